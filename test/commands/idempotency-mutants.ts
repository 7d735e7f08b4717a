/** Lists mistakes that the simulation of repeated commands must notice. The text of each occurs once in its file. */

import type { Mutant } from '../simulation/mutants.ts';

const STORE = 'shared/commands/idempotency-store.ts';
const SEND = 'shared/commands/send-once.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'claim-without-condition',
    mistake: 'a key is taken from whoever holds it',
    file: STORE,
    find: '    condition: isUnused(attempt, nowMs),\n',
    replace: '',
  },
  {
    name: 'dead-is-free',
    mistake: 'a command of a process that died is sent again',
    file: STORE,
    find: "{ kind: 'less', name: 'kept_until_ms', value: nowMs },",
    replace:
      "{ kind: 'less', name: 'kept_until_ms', value: nowMs }, { kind: 'less', name: 'running_until_ms', value: nowMs },",
  },
  {
    name: 'dead-runs-for-ever',
    mistake: 'a command of a process that died is said to be running for ever',
    file: STORE,
    find: "return { kind: nowMs < stored.running_until_ms ? 'running' : 'unknown' };",
    replace: "return { kind: 'running' };",
  },
  {
    name: 'failed-is-unworked',
    mistake: 'a command that failed after its work is sent again',
    file: 'shared/rates/retry-decision.ts',
    find: 'return status === 503 || (status >= 400 && status < 500 && !MAY_HAVE_WORKED.has(status));',
    replace: 'return status >= 400;',
  },
  {
    name: 'lost-is-unsent',
    mistake: 'a command whose answer was lost is sent again',
    file: SEND,
    find: "if (sent.kind === 'unanswered') return idempotency.loseTrack(attempt);",
    replace: "if (sent.kind === 'unanswered') return idempotency.release(attempt);",
  },
  {
    name: 'secret-is-kept',
    mistake: 'an answer with a secret is kept',
    file: 'shared/commands/send-once.ts',
    find: 'if (!isSecret) return text;',
    replace: 'return text;',
  },
];
