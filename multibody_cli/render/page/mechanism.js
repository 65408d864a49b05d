// A mechanism as objects of three.js: bodies that move, bars between points of bodies, arrows of forces, frames, traces.

import {
  BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, Group, InstancedMesh, Line, LineBasicMaterial,
  LineSegments, Matrix4, Mesh, MeshStandardMaterial, Quaternion, SRGBColorSpace, Vector3,
} from 'three';
import { Quantized, locate, numbers, readQuaternion } from 'mbsim/data';

const GHOST = 0.28;

export class Mechanism {
  /** `run` is the header of a run, `buffer` holds its arrays, `colors` are those of forces, `isGhost` draws it faintly. */
  constructor(run, buffer, colors, isGhost) {
    this.run = run;
    this.colors = colors;
    this.isGhost = isGhost;
    this.times = numbers(buffer, run.time);
    this.position = new Quantized(buffer, run.position);
    this.words = numbers(buffer, run.quaternion);
    this.largest = numbers(buffer, run.largest);
    this.activation = new Quantized(buffer, run.activation);
    this.deformation = Object.fromEntries(Object.entries(run.deformation).map(([k, one]) => [k, numbers(buffer, one)]));
    this.geometries = run.meshes.map((mesh) => geometryOf(mesh, buffer));
    this.root = new Group();
    this.layers = {};
    this.bodies = run.bodies.map(() => this.add(new Group(), 'all'));
    this.world = this.add(new Group(), 'all');
    for (const solid of run.solids) this.addSolid(solid);
    this.bars = run.bars.map((bar) => this.addBar(bar));
    if (!isGhost) {
      this.addContacts(buffer);
      this.addReactions(buffer);
      this.addApplied(buffer);
      this.addFrames();
    }
    this.traces = new Map();
    this.update(this.times[0]);
  }

  /** Add an object to a layer. */
  add(object, layer, parent = this.root) {
    parent.add(object);
    (this.layers[layer] ??= []).push(object);
    return object;
  }

  /** Draw the bodies translucent, so that muscles and joints inside are seen. */
  setTranslucent(translucent) {
    for (const { material } of this.layers.bodies ?? []) {
      Object.assign(material, { transparent: translucent, opacity: translucent ? 0.4 : 1, depthWrite: !translucent });
      material.needsUpdate = true;
    }
  }

  show(layer, visible) {
    for (const object of this.layers[layer] ?? []) object.visible = visible;
  }

  material(color) {
    const ghost = this.isGhost ? { transparent: true, opacity: GHOST, depthWrite: false } : {};
    const material = new MeshStandardMaterial({ roughness: 0.62, metalness: 0.05, side: DoubleSide, ...ghost });
    material.color.setRGB(...color, SRGBColorSpace);
    return material;
  }

  addSolid({ name, layer, body, color, mesh }) {
    if (this.isGhost && layer !== 'bodies') return;
    const object = new Mesh(this.geometries[mesh], this.material(color));
    object.castShadow = layer !== 'ground' && !this.isGhost;
    object.receiveShadow = !this.isGhost;
    object.userData = { name, body };
    this.add(object, layer, body < 0 ? this.world : this.bodies[body]);
  }

  addBar(bar) {
    const object = new Mesh(this.geometries[bar.mesh], this.material(bar.color));
    object.castShadow = !this.isGhost;
    object.matrixAutoUpdate = false;
    object.userData = { name: bar.name, body: -1, bar };
    this.add(object, 'springs');
    return { ...bar, object, ends: [new Vector3(), new Vector3()] };
  }

  arrows(count, color, layer) {
    const object = new InstancedMesh(this.geometries[this.run.arrow], this.material(color), Math.max(1, count));
    object.instanceMatrix.setUsage(DynamicDrawUsage);
    object.frustumCulled = false;
    object.count = 0;
    return this.add(object, layer);
  }

  addContacts(buffer) {
    const { offset, point, force, bodies, scale, longest } = this.run.contacts;
    const first = numbers(buffer, offset);
    let most = 0;
    for (let k = 0; k + 1 < first.length; k++) most = Math.max(most, first[k + 1] - first[k]);
    if (!most) return;
    this.contacts = {
      first, point: new Quantized(buffer, point), force: new Quantized(buffer, force), bodies: numbers(buffer, bodies),
      scale, longest, object: this.arrows(most, this.colors.contact, 'contacts'),
    };
  }

  addReactions(buffer) {
    if (!this.run.reactions) return;
    const { joints, wrench, scales, longest } = this.run.reactions;
    const objects = [this.colors.moment, this.colors.force].map((color) => this.arrows(joints.length, color, 'reactions'));
    this.reactions = { joints, wrench: new Quantized(buffer, wrench), scales, longest, objects };
  }

  addApplied(buffer) {
    if (!this.run.applied) return;
    const { count, point, vectors, scales, longest } = this.run.applied;
    const objects = [this.colors.moment, this.colors.force].map((color) => this.arrows(count, color, 'applied'));
    this.applied = {
      count, point: new Quantized(buffer, point), vectors: vectors.map((one) => new Quantized(buffer, one)), scales, longest, objects,
    };
  }

  addFrames() {
    const length = 5 * this.run.symbol;
    const ends = new Float32Array([0, 0, 0, length, 0, 0, 0, 0, 0, 0, length, 0, 0, 0, 0, 0, 0, length]);
    const tints = new Float32Array([0.8, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.6, 0.1, 0.1, 0.6, 0.1, 0.1, 0.2, 0.9, 0.1, 0.2, 0.9]);
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(ends, 3));
    geometry.setAttribute('color', new BufferAttribute(tints, 3));
    const material = new LineBasicMaterial({ vertexColors: true, depthTest: false });
    for (const body of this.bodies) this.add(new LineSegments(geometry, material), 'frames', body);
  }

  /** Place everything at a time. */
  update(t) {
    const { row, part } = locate(this.times, t);
    this.row = part > 0.5 ? row + 1 : row;
    this.bodies.forEach((body, k) => this.place(body, k, row, part));
    this.root.updateMatrixWorld(true);
    for (const bar of this.bars) this.placeBar(bar, row, part);
    if (this.contacts) this.placeContacts();
    if (this.reactions) this.placeReactions();
    if (this.applied) this.placeApplied();
  }

  place(object, body, row, part) {
    const p = [0, 1, 2].map((k) => this.position.between(row, part, 3 * body + k));
    object.position.set(...p);
    if (this.deformation[body]) {
      const A = Array.from({ length: 9 }, (_, k) => {
        const value = this.deformation[body][9 * row + k];
        return part > 0 ? value + part * (this.deformation[body][9 * (row + 1) + k] - value) : value;
      });
      object.matrixAutoUpdate = false;
      object.matrix.set(A[0], A[1], A[2], p[0], A[3], A[4], A[5], p[1], A[6], A[7], A[8], p[2], 0, 0, 0, 1);
      return;
    }
    this.orientation(body, row, object.quaternion);
    if (part > 0) object.quaternion.slerp(this.orientation(body, row + 1, NEXT), part);
  }

  orientation(body, row, out) {
    const [w, x, y, z] = readQuaternion(this.words, this.largest, row * this.run.bodies.length + body, COMPONENTS);
    return out.set(x, y, z, w);
  }

  placeBar(bar, row, part) {
    bar.ends.forEach((end, k) => {
      const points = bar.points[k];
      end.set(...(points[0].length ? points[row] : points)); // of an arc, the points move in their bodies
      if (part > 0 && points[0].length) end.lerp(OTHER_END.set(...points[row + 1]), part);
      if (bar.bodies[k] >= 0) end.applyMatrix4(this.bodies[bar.bodies[k]].matrixWorld);
    });
    bar.distance = bar.ends[0].distanceTo(bar.ends[1]);
    stretchInto(bar.object.matrix, bar.ends[0], DIFFERENCE.subVectors(bar.ends[1], bar.ends[0]), 1, bar.length);
    bar.object.matrixWorldNeedsUpdate = true;
    if (bar.muscle >= 0 && this.activation.step.length) {
      const a = Math.min(1, Math.max(0, this.activation.between(row, part, bar.muscle)));
      const mixed = this.colors.relaxed.map((value, k) => value + a * (this.colors.active[k] - value));
      bar.object.material.color.setRGB(...mixed, SRGBColorSpace);
    }
  }

  placeContacts() {
    const { first, point, force, scale, longest, object } = this.contacts;
    let count = 0;
    for (let k = first[this.row]; k < first[this.row + 1]; k++) {
      ORIGIN.set(point.at(k, 0), point.at(k, 1), point.at(k, 2));
      FORCE.set(force.at(k, 0), force.at(k, 1), force.at(k, 2)).multiplyScalar(scale);
      count += this.placeArrow(object, count, longest);
    }
    finish(object, count);
  }

  placeReactions() {
    const { joints, wrench, scales, longest, objects } = this.reactions;
    objects.forEach((object, kind) => {
      let count = 0;
      joints.forEach((joint, k) => {
        const [r0, r1, r2] = joint.rotation;
        const [a, b, c] = [0, 1, 2].map((j) => scales[kind] * wrench.at(this.row, 6 * k + 3 * kind + j));
        FORCE.set(r0[0] * a + r0[1] * b + r0[2] * c, r1[0] * a + r1[1] * b + r1[2] * c, r2[0] * a + r2[1] * b + r2[2] * c);
        const frame = this.bodies[joint.body].matrixWorld;
        ORIGIN.set(...joint.position).applyMatrix4(frame);
        FORCE.applyMatrix4(ROTATION.extractRotation(frame));
        count += this.placeArrow(object, count, longest);
      });
      finish(object, count);
    });
  }

  placeApplied() {
    const { count, point, vectors, scales, longest, objects } = this.applied;
    objects.forEach((object, kind) => {
      let placed = 0;
      for (let k = 0; k < count; k++) {
        ORIGIN.set(...[0, 1, 2].map((j) => point.at(this.row, 3 * k + j)));
        FORCE.set(...[0, 1, 2].map((j) => scales[kind] * vectors[kind].at(this.row, 3 * k + j)));
        placed += this.placeArrow(object, placed, longest);
      }
      finish(object, placed);
    });
  }

  /** Write the arrow FORCE at ORIGIN; return how many arrows that is: 0 for a force too small to be seen. */
  placeArrow(object, place, longest) {
    const length = FORCE.length();
    if (!(length > 0.2 * this.run.symbol)) return 0;
    if (length > longest) FORCE.multiplyScalar(longest / length);
    object.setMatrixAt(place, stretchInto(MATRIX, ORIGIN, FORCE, this.run.symbol, 1));
    return 1;
  }

  /** Center of mass of a body at the present time. */
  centre(body, out = new Vector3()) {
    return out.set(...this.run.centres[body]).applyMatrix4(this.bodies[body].matrixWorld);
  }

  /** Values of a body: position of the center of mass and speed, from the neighboring instants. */
  values(body) {
    const row = this.row, next = Math.min(row + 1, this.times.length - 1), last = Math.max(row - 1, 0);
    const seconds = this.times[next] - this.times[last];
    const x = this.centre(body).toArray().map((value) => value.toPrecision(4)).join(', ');
    const [from, to] = [last, next].map((k) => this.centreAt(body, k));
    const speed = seconds > 0 ? from.distanceTo(to) / seconds : 0;
    return `center of mass  ${x} m` + (seconds > 0 ? `\nspeed  ${speed.toPrecision(3)} m/s` : '');
  }

  centreAt(body, row) {
    const centre = new Vector3(...this.run.centres[body]).applyQuaternion(this.orientation(body, row, NEXT));
    return centre.add(ORIGIN.set(...[0, 1, 2].map((k) => this.position.at(row, 3 * body + k))));
  }

  /** Show or hide the path of the center of mass of a body. */
  toggleTrace(body, color) {
    if (this.traces.has(body)) {
      this.root.remove(this.traces.get(body));
      this.traces.delete(body);
      return;
    }
    const points = Array.from(this.times, (_, row) => this.centreAt(body, row));
    const line = new Line(new BufferGeometry().setFromPoints(points), new LineBasicMaterial({ color: new Color(color) }));
    line.frustumCulled = false;
    this.traces.set(body, this.add(line, 'traces'));
  }
}

const COMPONENTS = [1, 0, 0, 0];
const NEXT = new Quaternion();
const [DIFFERENCE, ORIGIN, FORCE, SIDE, THIRD, ALONG, OTHER_END] = Array.from({ length: 7 }, () => new Vector3());
const [MATRIX, ROTATION] = [new Matrix4(), new Matrix4()];

/** Write the matrix of a mesh along z of a length and a width that reaches from `begin` by `along`. */
function stretchInto(matrix, begin, along, width, length) {
  const distance = along.length() || 1e-12;
  ALONG.copy(along).divideScalar(distance);
  const { x, y, z } = ALONG;
  const least = Math.min(Math.abs(x), Math.abs(y), Math.abs(z));
  SIDE.set(+(Math.abs(x) === least), +(Math.abs(y) === least && Math.abs(x) !== least), 0);
  if (SIDE.lengthSq() === 0) SIDE.set(0, 0, 1);
  SIDE.addScaledVector(ALONG, -SIDE.dot(ALONG)).normalize();
  THIRD.crossVectors(ALONG, SIDE);
  matrix.makeBasis(SIDE.multiplyScalar(width), THIRD.multiplyScalar(width), ALONG.multiplyScalar(distance / length));
  return matrix.setPosition(begin);
}

function finish(object, count) {
  object.count = count;
  object.instanceMatrix.needsUpdate = true;
}

function geometryOf({ vertices, normals, triangles }, buffer) {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(numbers(buffer, vertices), 3));
  geometry.setAttribute('normal', new BufferAttribute(numbers(buffer, normals), 3));
  geometry.setIndex(new BufferAttribute(numbers(buffer, triangles), 1));
  return geometry;
}
