/** Says to a caller why a command was not accepted, and what to do about it. */

import { LINE_ENTRIES_MAX, LINE_ENTRIES_OF_CALLER_MAX } from '../../../shared/commands/queue/project-line.ts';
import { REQUEST_BYTES_MAX } from '../../../shared/commands/queue/sealed-request.ts';
import { rateLimited } from '../serving/allowance.ts';
import { Problem } from '../serving/problem.ts';
import { type Acceptance, WAITING_COMMANDS_MAX, WAITING_COMMANDS_OF_CALLER_MAX } from './accept-command.ts';

/** In most lines the first command has left by then. */
const RETRY_AFTER_SECONDS = '30';

export function refusalOf(acceptance: Exclude<Acceptance, { kind: 'accepted' }>): Problem {
  switch (acceptance.kind) {
    case 'unknown_project':
      return new Problem('not-found', {
        detail: 'The upstream has no project with this id. Nothing waits in line; look at the id.',
      });
    case 'no_permit':
      return rateLimited(acceptance.delayMs);
    case 'line_full':
      return full(`${LINE_ENTRIES_MAX} commands of this project wait already`);
    case 'account_full':
      return full(`${WAITING_COMMANDS_MAX} commands of this account wait already`);
    case 'line_part_full':
      return full(`${LINE_ENTRIES_OF_CALLER_MAX} commands of this caller wait for this project already`);
    case 'account_part_full':
      return full(`${WAITING_COMMANDS_OF_CALLER_MAX} commands of this caller wait already`);
    case 'too_large':
      return new Problem('body-too-large', {
        detail: `A command that waits in line may have ${REQUEST_BYTES_MAX} bytes with its query and its body.`,
      });
  }
}

function full(what: string): Problem {
  return new Problem('queue-full', {
    detail: `${what}. Wait until some of them are sent, or cancel those that are no longer needed.`,
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  });
}
