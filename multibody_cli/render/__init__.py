"""Pictures and animations of mechanisms: geometry, motion, camera, and the files HTML, PNG, SVG, GIF, MP4 and glTF."""
