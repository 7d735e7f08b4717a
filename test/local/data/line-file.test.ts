import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLineFile } from '../../../infra/local/kept-files.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aFolder } from '../a-folder.ts';

const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), {
  code: 'ENOSPC',
  errno: -28,
});

/** Opens a real file on a disk that writes only some of the bytes when it is full. */
function setUp(firstContent?: string) {
  const path = join(aFolder(), 'lines');
  if (firstContent !== undefined) writeFileSync(path, firstContent);
  const said: string[] = [];
  const disk = { roomBytes: Number.POSITIVE_INFINITY };
  const open = () =>
    openLineFile(path, {
      say: (sentence) => said.push(sentence),
      whenFull: 'lines wait.',
      write(target, text) {
        const bytes = Buffer.from(text);
        const taken = bytes.subarray(0, disk.roomBytes);
        disk.roomBytes -= taken.length;
        appendFileSync(target, taken);
        if (taken.length < bytes.length) throw FULL;
      },
    });
  return { path, said, disk, open, lines: () => readFileSync(path, 'utf8').split('\n') };
}

describe('a file of lines', () => {
  test('contains every appended line on a line of its own, also after it is opened again', () => {
    const { open, lines, said } = setUp();
    open().append('one');
    const second = open();
    second.append('two');
    second.append('three');

    expect(lines()).toEqual(['one', 'two', 'three', '']);
    expect(said).toEqual([]);
  });

  test('ends a line that a crash has torn and reports it before it appends the next one', () => {
    const { open, lines, said, path } = setUp('{"whole":1}\n{"to');
    open().append('{"next":2}');

    expect(lines()).toEqual(['{"whole":1}', '{"to', '{"next":2}', '']);
    expect(said).toEqual([
      `${path} ended in the middle of a line (a crash or a full disk); that line is ended there.`,
    ]);
  });

  test('throws while the disk is full, and reports the beginning and the end of that once each', () => {
    const { open, said, disk, path } = setUp();
    const file = open();
    disk.roomBytes = 3;
    expect(() => file.append('first')).toThrow(FULL);
    expect(() => file.append('second')).toThrow(FULL);
    disk.roomBytes = Number.POSITIVE_INFINITY;
    file.append('third');
    file.append('fourth');

    expect(said).toEqual([
      `${path} cannot be written (ENOSPC: no space left on device); lines wait.`,
      `${path} can be written again.`,
    ]);
  });

  test('never loses or joins an accepted line, wherever the disk fills up or the process ends', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const dice = seededRandom(seed);
      const { open, lines, disk } = setUp();
      let file = open();
      const taken: string[] = [];
      for (let step = 0; step < 20; step++) {
        disk.roomBytes = dice.next() < 0.4 ? Math.floor(dice.next() * 14) : Number.POSITIVE_INFINITY;
        if (dice.next() < 0.2) file = open();
        const line = `{"seed":${seed},"step":${step}}`.slice(0, 3 + Math.floor(dice.next() * 20));
        try {
          file.append(`${line}#${step}`);
          taken.push(`${line}#${step}`);
        } catch (error) {
          expect(error).toBe(FULL);
        }
      }

      const kept = new Set(lines());
      expect(
        taken.filter((line) => !kept.has(line)),
        `seed ${seed}`,
      ).toEqual([]);
    }
  });
});
