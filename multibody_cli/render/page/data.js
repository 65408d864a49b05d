// The data of the page: arrays of numbers in one deflated block, each located by a descriptor {type, shape, offset}.

const TYPES = { '<f4': Float32Array, '<f8': Float64Array, '<u4': Uint32Array, '<i4': Int32Array };

/** Read the header and the block of a page. */
export async function readPage(page) {
  const header = JSON.parse(page.getElementById('header').textContent);
  const text = page.getElementById('data').textContent;
  const packed = await (await fetch('data:application/octet-stream;base64,' + text)).blob();
  const stream = packed.stream().pipeThrough(new DecompressionStream('deflate'));
  return { header, buffer: await new Response(stream).arrayBuffer() };
}

/** Return the numbers of a descriptor. */
export function numbers(buffer, { type, shape, offset }) {
  const count = shape.reduce((product, length) => product * length, 1);
  return type === 'series' ? series(buffer, shape[0], count, offset) : new TYPES[type](buffer, offset, count);
}

// Differences from row to row, modulo 2^16; all high bytes, then all low bytes, column after column.
function series(buffer, rows, count, offset) {
  const bytes = new Uint8Array(buffer, offset, 2 * count);
  const words = new Uint16Array(count);
  const columns = rows ? count / rows : 0;
  for (let column = 0, k = 0; column < columns; column++) {
    for (let row = 0, value = 0; row < rows; row++, k++) {
      const folded = (bytes[k] << 8) | bytes[count + k];
      value = (value + ((folded >> 1) ^ -(folded & 1))) & 0xffff;
      words[row * columns + column] = value;
    }
  }
  return words;
}

/** Values stored as words of 16 bits: value = origin + step * word, for each of the columns. */
export class Quantized {
  constructor(buffer, { words, origin, step }) {
    this.words = numbers(buffer, words);
    this.origin = origin;
    this.step = step;
    this.columns = origin.length;
  }

  at(row, column) {
    return this.origin[column] + this.step[column] * this.words[row * this.columns + column];
  }

  /** Value between two rows. */
  between(row, part, column) {
    const value = this.at(row, column);
    return part > 0 ? value + part * (this.at(row + 1, column) - value) : value;
  }
}

const REST = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];

/** Read unit quaternion k (w, x, y, z) from its three smallest components. */
export function readQuaternion(words, largest, k, out) {
  const places = REST[largest[k]];
  let sum = 0;
  for (let j = 0; j < 3; j++) {
    const value = (words[3 * k + j] * (2 / 65535) - 1) * Math.SQRT1_2;
    out[places[j]] = value;
    sum += value * value;
  }
  out[largest[k]] = Math.sqrt(Math.max(0, 1 - sum));
  return out;
}

/** Return the last row whose time is not after t, and the part of the way to the next row. */
export function locate(times, t) {
  let low = 0, high = times.length - 1;
  if (t <= times[0] || high === 0) return { row: 0, part: 0 };
  if (t >= times[high]) return { row: high, part: 0 };
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  return { row: low, part: (t - times[low]) / (times[high] - times[low]) };
}
