/** One line of the report: an assumption about the upstream, and what was seen of it. */

export interface Line {
  /** The number of the section in the notes on the upstream, and a short name. */
  readonly id: string;
  readonly assumption: string;
  readonly verdict: 'seen' | 'not seen' | 'different';
  /** What was seen, in counts and forms: never an id, a name or a key of the account. */
  readonly found: string;
}

export interface Judgement {
  /** Undefined means that there was nothing to judge by. */
  readonly holds: boolean | undefined;
  readonly found: string;
}

export function line(id: string, assumption: string, { holds, found }: Judgement): Line {
  const verdict = holds === undefined ? 'not seen' : holds ? 'seen' : 'different';
  return { id, assumption, verdict, found };
}
