// The player: view, playback, time line, plots, and the actions of keys and pointer.

import {
  Color, DirectionalLight, HemisphereLight, OrbitControls, PCFShadowMap, PerspectiveCamera, Raycaster, Scene, Vector2, Vector3,
  WebGLRenderer,
} from 'three';
import { locate, readPage } from 'mbsim/data';
import { Mechanism } from 'mbsim/mechanism';
import { Plot } from 'mbsim/plots';

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];
const LAYERS = {
  bodies: true, ground: true, joints: true, springs: true, points: true, contacts: true, applied: true, reactions: false, frames: false, traces: true,
  ghost: true, translucent: false,
};
const SLOW = 0.15; // seconds from one picture to the next
const ALWAYS = ['traces', 'translucent'];
const $ = (id) => document.getElementById(id);

class Player {
  constructor({ header, buffer }) {
    this.header = header;
    this.mechanisms = header.runs.map((run, k) => new Mechanism(run, buffer, header.colors, k > 0));
    this.main = this.mechanisms[0];
    this.times = this.main.times;
    this.time = this.times[0];
    this.speed = header.speed;
    this.playing = false;
    this.selected = -1;
    this.following = false;
    this.makeView();
    this.makeControls();
    this.plots = header.plots.map((plot) => new Plot(plot, this.times, buffer, $('plots'), (t) => this.seek(t)));
    document.querySelector('main').classList.toggle('bare', !this.plots.length || this.times.length < 2);
    this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
    new ResizeObserver(() => this.resize()).observe($('view'));
    this.resize();
    this.fit();
    this.seek(header.start ?? this.times[0]);
    requestAnimationFrame((now) => this.tick(now));
  }

  makeView() {
    const canvas = $('canvas');
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(this.header.camera.fov, 1, 0.01, 1000);
    this.camera.up.set(...this.header.camera.up);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener('change', () => (this.stale = true));
    this.sky = new HemisphereLight(0xffffff, 0x8d8d99, 1.5);
    this.sky.position.copy(this.camera.up);
    this.sun = new DirectionalLight(0xffffff, 2.1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.normalBias = 0.01 * this.header.radius;
    this.sun.shadow.radius = 3;
    const half = 1.6 * this.header.radius;
    Object.assign(this.sun.shadow.camera, { left: -half, right: half, top: half, bottom: -half, near: 0, far: 6 * half });
    this.scene.add(this.sky, this.sun, this.sun.target, ...this.mechanisms.map((one) => one.root));
    this.raycaster = new Raycaster();
  }

  makeControls() {
    const first = this.times[0], last = this.times.at(-1);
    $('slider').min = first;
    $('slider').max = last;
    $('slider').addEventListener('input', () => this.seek(Number($('slider').value)));
    for (const { time, kind, text } of this.header.events) {
      const mark = $('marks').appendChild(document.createElement('i'));
      mark.className = kind;
      mark.title = `${time.toPrecision(5)} s: ${text}`;
      mark.style.left = `${(100 * (time - first)) / (last - first || 1)}%`;
      mark.addEventListener('click', () => this.seek(time));
    }
    const speeds = [...new Set([...SPEEDS, this.speed])].sort((a, b) => a - b);
    for (const speed of speeds) $('speed').add(new Option(`${speed}×`, speed, false, speed === this.speed));
    $('speed').addEventListener('change', () => (this.speed = Number($('speed').value)));
    $('play').addEventListener('click', () => this.toggle());
    $('back').addEventListener('click', () => this.step(-1));
    $('forward').addEventListener('click', () => this.step(1));
    $('fit').addEventListener('click', () => this.fit());
    $('theme').addEventListener('click', () => this.setTheme(!this.dark));
    $('layers-button').addEventListener('click', () => this.open('layers'));
    $('help-button').addEventListener('click', () => this.open('help'));
    $('about').textContent = this.header.about;
    this.makeLayers();
    $('canvas').addEventListener('pointermove', (event) => this.hover(event));
    $('canvas').addEventListener('pointerleave', () => ($('tooltip').hidden = true));
    $('canvas').addEventListener('click', (event) => this.select(event));
    addEventListener('keydown', (event) => this.key(event));
    if (this.times.length < 2) document.querySelector('footer').style.display = 'none';
  }

  makeLayers() {
    for (const [layer, visible] of Object.entries(LAYERS)) {
      const exists = layer === 'ghost' ? this.mechanisms.length > 1 : ALWAYS.includes(layer) || this.main.layers[layer];
      if (!exists) continue;
      const label = $('layers').appendChild(document.createElement('label'));
      const box = label.appendChild(document.createElement('input'));
      box.type = 'checkbox';
      box.id = `layer-${layer}`;
      box.checked = visible || (layer === 'translucent' && this.header.translucent);
      label.append(` ${layer}`);
      box.addEventListener('change', () => this.show(layer, box.checked));
      this.show(layer, box.checked);
    }
    for (const body of this.header.traces) this.main.toggleTrace(body, this.colorOf(body));
  }

  show(layer, visible) {
    if (layer === 'ghost') for (const ghost of this.mechanisms.slice(1)) ghost.root.visible = visible;
    else if (layer === 'translucent') this.main.setTranslucent(visible);
    else for (const one of this.mechanisms) one.show(layer, visible);
    this.stale = true;
  }

  open(id) {
    for (const other of ['layers', 'help']) $(other).hidden = other !== id || !$(other).hidden;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = $('view');
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.moved) this.fit();
    this.stale = true;
  }

  /** Show all points of the motion, in the given direction: see `fitted_camera` of the program. */
  fit() {
    const { points, margin, zoom } = this.header.camera;
    const half = Math.tan((this.camera.fov * Math.PI) / 360) * margin;
    const axes = this.header.camera.axes.map((axis) => new Vector3(...axis));
    const place = [0, 0, -Infinity];
    let [near, far] = [-Infinity, Infinity];
    for (const [k, slope] of [half * this.camera.aspect, half].entries()) {
      let [high, low] = [-Infinity, -Infinity];
      for (const point of points) {
        const p = new Vector3(...point), along = p.dot(axes[k]), depth = p.dot(axes[2]);
        high = Math.max(high, along + slope * depth);
        low = Math.max(low, -along + slope * depth);
        [near, far] = [Math.max(near, depth), Math.min(far, depth)];
      }
      place[k] = 0.5 * (high - low);
      place[2] = Math.max(place[2], (high + low) / (2 * slope));
    }
    const middle = 0.5 * (near + far), distance = Math.max(place[2] - middle, 1e-6) / zoom;
    const target = new Vector3().addScaledVector(axes[0], place[0]).addScaledVector(axes[1], place[1]).addScaledVector(axes[2], middle);
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(axes[2], distance);
    this.camera.near = 0.01 * distance;
    this.camera.far = 40 * distance + 40 * this.header.radius;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.stale = true;
  }

  setTheme(dark) {
    this.dark = dark;
    document.documentElement.classList.toggle('dark', dark);
    this.scene.background = new Color(getComputedStyle(document.body).backgroundColor);
    this.stale = true;
  }

  seek(t) {
    const before = this.following ? this.main.centre(this.selected) : null;
    this.time = Math.min(Math.max(t, this.times[0]), this.times.at(-1));
    for (const one of this.mechanisms) one.update(this.time);
    if (before) {
      const moved = this.main.centre(this.selected).sub(before);
      this.camera.position.add(moved);
      this.controls.target.add(moved);
    }
    $('slider').value = this.time;
    $('time').textContent = `${this.time.toFixed(3)} s`;
    this.stale = true;
  }

  /** Go to a neighboring instant. */
  step(by) {
    this.pause();
    const { row, part } = locate(this.times, this.time + 1e-12);
    const next = by < 0 && part > 1e-6 ? row : row + by;
    this.seek(this.times[Math.min(Math.max(next, 0), this.times.length - 1)]);
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.time >= this.times.at(-1)) this.seek(this.times[0]);
    this.playing = true;
    this.drawIcon('M3 2h4v12H3zM9 2h4v12H9z');
  }

  pause() {
    this.playing = false;
    this.drawIcon('M3 2l11 6-11 6z');
  }

  drawIcon(path) {
    $('play').querySelector('path').setAttribute('d', path);
  }

  tick(now) {
    const pause = (now - (this.last ?? now)) / 1000;
    const seconds = Math.min(0.5, pause);
    this.last = now;
    if (this.playing) {
      this.lighten(pause);
      this.seek(this.time + seconds * this.speed);
      if (this.time >= this.times.at(-1)) this.pause();
    }
    this.controls.update();
    if (this.stale) this.draw();
    requestAnimationFrame((next) => this.tick(next));
  }

  /** Do without shadows, then with fewer pixels, where the graphics are slow. */
  lighten(pause) {
    this.slow = pause > SLOW ? (this.slow ?? 0) + 1 : 0;
    if (this.slow < 4) return;
    this.slow = 0;
    if (this.sun.castShadow) this.sun.castShadow = false;
    else this.renderer.setPixelRatio(Math.max(0.5, 0.75 * this.renderer.getPixelRatio()));
  }

  draw() {
    this.stale = false;
    const { radius } = this.header;
    const away = new Vector3().subVectors(this.camera.position, this.controls.target).normalize();
    const side = new Vector3().crossVectors(this.camera.up, away).normalize();
    // the sun stands high, to the left behind the viewer
    const sun = new Vector3().copy(this.camera.up).multiplyScalar(1.5).addScaledVector(side, -0.7).addScaledVector(away, 0.8).normalize();
    this.sun.target.position.set(...this.header.centre);
    this.sun.position.copy(this.sun.target.position).addScaledVector(sun, 5 * radius);
    this.renderer.render(this.scene, this.camera);
    for (const plot of this.plots) plot.update(this.time, this.dark);
    $('camera-words').textContent = this.cameraWords(away);
  }

  cameraWords(away) {
    const [x, y, z] = this.header.camera.level.map((axis) => away.dot(new Vector3(...axis)));
    const degrees = (angle) => Math.round((angle * 180) / Math.PI);
    return `${degrees(Math.atan2(y, x))},${degrees(Math.asin(Math.min(1, Math.max(-1, z))))}`;
  }

  pick(event) {
    const { left, top, width, height } = $('canvas').getBoundingClientRect();
    const pointer = new Vector2((2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height);
    this.raycaster.setFromCamera(pointer, this.camera);
    const found = this.raycaster.intersectObject(this.main.root, true).find(({ object }) => object.visible && object.userData.name);
    return found?.object.userData;
  }

  hover(event) {
    const found = event.buttons ? null : this.pick(event);
    const tooltip = $('tooltip');
    tooltip.hidden = !found;
    if (!found) return;
    const bar = found.bar && this.main.bars.find((one) => one.object.userData === found);
    const values = bar ? `\nlength  ${bar.distance.toPrecision(4)} m` : found.body >= 0 ? `\n${this.main.values(found.body)}` : '';
    tooltip.textContent = found.name + values;
    const { left, top, width } = $('view').getBoundingClientRect();
    tooltip.style.left = `${Math.min(event.clientX - left + 14, width - tooltip.offsetWidth - 4)}px`;
    tooltip.style.top = `${event.clientY - top + 14}px`;
  }

  select(event) {
    const found = this.pick(event);
    for (const { material } of this.meshesOf(this.selected)) material.emissive.setHex(0);
    this.selected = found && found.body >= 0 ? found.body : -1;
    this.following &&= this.selected >= 0;
    for (const { material } of this.meshesOf(this.selected)) material.emissive.setHex(0x333311);
    this.stale = true;
  }

  meshesOf(body) {
    return body < 0 ? [] : this.main.bodies[body].children.filter((one) => one.isMesh);
  }

  colorOf(body) {
    return this.meshesOf(body)[0]?.material.color.getHex() ?? 0x888888;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
    const actions = {
      ' ': () => this.toggle(),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Home: () => this.seek(this.times[0]),
      End: () => this.seek(this.times.at(-1)),
      '-': () => this.changeSpeed(-1),
      '+': () => this.changeSpeed(1),
      f: () => (this.following = this.selected >= 0 && !this.following),
      t: () => this.selected >= 0 && this.main.toggleTrace(this.selected, this.colorOf(this.selected)),
      r: () => this.fit(),
      l: () => this.open('layers'),
      h: () => this.open('help'),
      d: () => this.setTheme(!this.dark),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.stale = true;
  }

  changeSpeed(by) {
    $('speed').selectedIndex = Math.min(Math.max($('speed').selectedIndex + by, 0), $('speed').length - 1);
    this.speed = Number($('speed').value);
  }
}

readPage(document)
  .then((page) => (globalThis.player = new Player(page)))
  .catch((error) => {
    $('about').textContent = `The page cannot be shown: ${error.message}. It needs a browser with WebGL 2 of 2023 or later.`;
    console.error(error);
  });
