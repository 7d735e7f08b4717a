/** Texts that a stranger may write, as long as a test wants them, and what the work on them may cost. */

/** Each of these made, or would make, a search begin again and again. */
export const LONG_TEXTS: Readonly<Record<string, string>> = {
  'heads of web tokens': '-eyJ',
  'halves of web tokens': '-eyJabcdefghij.',
  'names of passwords': '"password":',
  'names of passwords in a text of JSON': '\\"password\\":\\"',
  'addresses with a user': '://user:',
  'beginnings of private keys': '-----BEGIN ',
  'prefixes of tokens': 'npg_abc-',
  spaces: ' ',
  authorizations: 'authorization: bearer ',
};

/** It is longer than all that is searched of a text of which 2,000 characters are kept. */
export const LONG_SECRET = `npg_${'x'.repeat(20_000)}`;

export const LENGTHS = [10_000, 100_000, 1_000_000];

const PLAIN = 'a branch has ended. ';

export function textOf(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

/** Twice the length of a text costs twice the time; a search that begins again and again needs hundreds of times as much. */
const TIMES_MAX = 60;

/** A collection of garbage can fall into a short measurement. A search that begins again and again is too slow in each of them. */
const MEASUREMENTS_MAX = 3;

/**
 * Returns how many times as much processor time the work takes for this text as for a plain one of the same length, at
 * least a thousand of which are counted together. The time of the processor does not depend on what else runs on the machine.
 */
export async function timesOfPlain(
  work: (text: string) => Promise<unknown>,
  part: string,
  length: number,
): Promise<number> {
  const longest = Math.max(...LENGTHS);
  const spentOn = async (text: string) => {
    const before = process.cpuUsage();
    await work(text);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await work(textOf(PLAIN, longest));
  let least = Number.POSITIVE_INFINITY;
  for (let measured = 0; measured < MEASUREMENTS_MAX && !isInProportion(least); measured++) {
    const plainMicros = await spentOn(textOf(PLAIN, longest));
    const micros = await spentOn(textOf(part, length));
    least = Math.min(least, micros / Math.max(plainMicros / TIMES_MAX, (plainMicros * length) / longest));
  }
  return least;
}

export const isInProportion = (times: number) => times <= TIMES_MAX;
