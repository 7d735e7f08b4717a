/** Names the exit codes of the `operations-bridge` command. */

export const EXIT_CODES = {
  succeeded: 0,
  /** What was asked for was tried and did not succeed, or a fault of ours ended the command. */
  failed: 1,
  /** Nothing was done: the call was refused, or the command line, the settings or the connection must be mended. */
  refused: 2,
  /** It is not known whether the command was carried out, and waiting longer does not tell. */
  unknown: 3,
  /** The outcome was not known when the time was over, as with `timeout` of coreutils. */
  timed_out: 124,
  /** Ctrl-C ended the command before its outcome was known: 128 and the number of SIGINT. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
