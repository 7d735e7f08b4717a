/**
 * Defines the three walks whose length `npm run shape` measures. A walk is bounded by what crosses the ports of a process, so that its
 * definition stays when files and functions change.
 */

export interface Walk {
  readonly name: string;
  /** The causal chain begins when a function of this name is entered, or, for `the door`, when the door is called. */
  readonly start: string;
  /** The steps of the chain match these one behind the other, and the walk begins at the last of them. */
  readonly from: readonly RegExp[];
  /** The chain counts only if a step behind the beginning matches this. */
  readonly must: RegExp;
  /** The walk ends at the first step behind `must` that this matches. */
  readonly end: RegExp;
}

export const THE_DOOR = 'the door';

/**
 * A crossing of a port is written as `>` for what leaves and `<` for what comes in, with the operation of AWS or the method and address
 * of HTTP; the door itself is `< in` and `> out`. A function that is entered is written as its file and its name.
 */
export const WALKS = {
  /**
   * A changed row's way: from the room that polls one project and is handed the parsed rows of a list, over PutEvents, to the write
   * that acknowledges the event.
   */
  row: {
    name: 'a changed row to PutEvents and its acknowledgement',
    start: 'pollProject',
    from: [/^< GET .*\/operations/, /^functions\/poller\/project\//],
    must: /^> PutEvents/,
    end: /^> UpdateItem/,
  },
  /** A command's way: from the request of a caller, over the request to the upstream, to the answer. */
  command: {
    name: 'a command to its answer',
    start: THE_DOOR,
    from: [/^< in/],
    must: /^> POST .*\/projects\//,
    end: /^> out/,
  },
  /** A failure's way: from the batch of the queue that holds the event, over the message to Slack, to the answer of the batch. */
  alert: {
    name: 'a failed event to its sent alert',
    start: THE_DOOR,
    from: [/^< in/],
    must: /^> POST .*slack\.com/,
    end: /^> out/,
  },
} satisfies Readonly<Record<string, Walk>>;

/** Files whose path has one of these texts are left out: clock, telemetry, and small helpers that nobody needs to read to follow a walk. */
export const LEFT_OUT: readonly string[] = [
  'shared/runtime/clock',
  'telemetry',
  'metric-names',
  'logged-figures',
  'on-demand',
  'tally',
  'shared/runtime/concurrency',
  'shared/runtime/errors',
  'read-bounded',
  'plain-words',
  'measure-recorded',
  'measure-published',
];
