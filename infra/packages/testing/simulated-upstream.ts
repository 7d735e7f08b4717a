/** Declares what tests of other projects see of the simulated upstream. */

export interface SimulatedUpstreamOptions {
  /** The number of projects at the start. The default is 3. */
  projects?: number;
  /** Everything that happens is drawn from it. The default is 1. */
  seed?: number;
  /** The world begins to live at this time. Three hours of history lie before it. The default is the present. */
  startAt?: Date;
  /** 1 (the default) is as fast as the machine's clock, 60 is a minute in a second, and with 0 only `passTime` moves the time. */
  speed?: number;
  /**
   * An average project is used this often in an hour; each time, computes start, branches appear and so on. The default is 20. With 0, only the calls of
   * your code make things happen.
   */
  sessionsPerHour?: number;
  /** How often operations fail, are skipped or are cancelled: 1 (the default) is as often as in a real service, 0 is never. */
  trouble?: number;
  /** The service accepts this key. The default is `test-key`. */
  apiKey?: string;
  /** These faults are on from the start. */
  faults?: Partial<UpstreamFaults>;
}

/** Each chance is per request, from 0 (the default) to 1. With 1, every request has the fault. */
export interface UpstreamFaults {
  /** The answer is 429, and the call is not carried out. */
  rateLimited: number;
  /** The answer is 500, although the call is carried out. */
  internalError: number;
  /** The answer is 503, and the call is not carried out. */
  unavailable: number;
  /** The answer is 524 with the HTML page of a proxy, although the call is carried out. */
  htmlError: number;
  /** The connection breaks without an answer, although the call is carried out. */
  droppedConnection: number;
  /** The answer is 200 with half of its JSON. */
  halfBody: number;
  /** The list of projects leaves one out and names it in `unavailable_project_ids`. */
  partialProjects: number;
  /** Each 429 has this `Retry-After`, in seconds. */
  retryAfterSeconds: number | undefined;
  /** Each answer takes this much longer, in milliseconds of the machine. */
  latencyMs: number;
  /** Lists hide some operations for up to this time after their creation, in milliseconds of the service. */
  visibleLateMs: number;
}

/** One operation as it really went, with every state that it had, seen or not. */
export interface TrueOperation {
  readonly project_id: string;
  readonly operation_id: string;
  readonly action: string;
  /** Milliseconds since the Unix epoch. */
  readonly created_at_ms: number;
  /** The states are in the order of time; the last one is the present. */
  readonly states: readonly TrueState[];
}

export interface TrueState {
  /** Milliseconds since the Unix epoch. */
  readonly at_ms: number;
  readonly status: string;
  readonly failures_count: number;
}

export interface SimulatedUpstream {
  /** Ends with `/api/v2`. Give it to your client as the base URL. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Returns the present of the simulated service. */
  now(): Date;
  /** Moves the time forward, at most 31 days at once. What happens meanwhile has happened when it returns. */
  passTime(durationMs: number): void;
  /** Changes these faults and leaves the others. Throws `TypeError` for a value that is out of range. */
  setFaults(faults: Partial<UpstreamFaults>): void;
  /** Returns the ids of the projects that exist now. */
  projectIds(): readonly string[];
  /** Returns every operation of the projects that exist, up to the present. Compare with it what your code has seen. */
  truth(): readonly TrueOperation[];
  /** The service accepts this key, too, from now on. */
  addKey(key: string): void;
  /** The service answers 401 to this key from now on. */
  revokeKey(key: string): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
