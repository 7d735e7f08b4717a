/** Lists the bounds of commands that wait in line. */

import {
  WAITING_COMMANDS_MAX,
  WAITING_COMMANDS_OF_CALLER_MAX,
} from '../../../../functions/api/queue/accept-command.ts';
import { KNOWN_MS } from '../../../../functions/api/queue/known-projects.ts';
import { SETTLE_LOCK_MS_MAX, SETTLE_MS_MAX } from '../../../../functions/api/upstream/settle-command.ts';
import { HANDED_BACK_MS_MAX } from '../../../../functions/commands/intake/pause.ts';
import { SWEPT_LINES_MAX } from '../../../../functions/commands/work.ts';
import {
  LINE_ENTRIES_MAX,
  LINE_ENTRIES_OF_CALLER_MAX,
} from '../../../../shared/commands/queue/project-line.ts';
import { COMMAND_KEPT_MS } from '../../../../shared/commands/queue/queue-store.ts';
import { REQUEST_BYTES_MAX } from '../../../../shared/commands/queue/sealed-request.ts';
import { DEADLINE_SECONDS_MAX } from '../../../../shared/config/api-accounts.ts';
import type { BoundGroup } from './bound.ts';

export const queueBounds: BoundGroup = {
  title: 'Commands in line',
  bounds: [
    {
      name: 'Commands that wait in the line of one project',
      value: LINE_ENTRIES_MAX,
      unit: 'commands',
      reason:
        'A script that queues more for one project has most likely lost control, and the line is one item of the table.',
      whenMet: 'The next command is answered with 429 `queue-full`.',
      signal: 'The answer',
    },
    {
      name: 'Commands that wait in the lines of one account',
      value: WAITING_COMMANDS_MAX,
      unit: 'commands',
      reason:
        "At the commands' share of the rate limit, more of them would take longer than their deadlines.",
      whenMet: 'The next command is answered with 429 `queue-full`. The count can lag by a moment.',
      signal: 'The answer',
    },
    {
      name: 'Commands of one caller that wait in the line of one project',
      value: LINE_ENTRIES_OF_CALLER_MAX,
      unit: 'commands',
      reason: 'Half of the places are kept for other callers.',
      whenMet: 'The next command of the caller is answered with 429 `queue-full`.',
      signal: 'The answer',
    },
    {
      name: 'Commands of one caller that wait in the lines of one account',
      value: WAITING_COMMANDS_OF_CALLER_MAX,
      unit: 'commands',
      reason: 'Half of the places are kept for other callers.',
      whenMet:
        'The next command of the caller is answered with 429 `queue-full`. The count can lag by a moment.',
      signal: 'The answer',
    },
    {
      name: 'Time for which an instance remembers that the upstream has a project of which the bridge has no record',
      value: KNOWN_MS,
      unit: 'ms',
      reason:
        'Asking costs a request. That the upstream has no such project is not remembered, because the project may be new.',
      whenMet: 'The upstream is asked again when a command for the project is to wait in line.',
      signal: 'No signal: it is a choice, and meets no load.',
    },
    {
      name: 'Query and body of a command that waits',
      value: REQUEST_BYTES_MAX,
      unit: 'bytes',
      reason: 'Sealed, it must fit into one item of the table. Bodies have a smaller bound of their own.',
      whenMet: 'The command is answered with 413 `body-too-large`.',
      signal: 'The answer',
    },
    {
      name: 'Seconds that `bridge-deadline` takes',
      value: DEADLINE_SECONDS_MAX,
      unit: 's',
      reason:
        'A caller does not expect a command to be sent more than a day after the request. `command_deadline_seconds_max` sets less.',
      whenMet: 'The command is answered with 400, which names the bound.',
      signal: 'The answer',
    },
    {
      name: 'Time for which a command and its answer are kept after its end',
      value: COMMAND_KEPT_MS,
      unit: 'ms',
      reason: 'A caller who was away overnight still finds it. An answer can hold data of a project.',
      whenMet: 'The answer is no longer shown. The audit and the event `Command Settled` remain.',
      signal: '`left_line_at` of the command',
    },
    {
      name: 'Time for which a command of a `--settle` token waits for a lock',
      value: SETTLE_LOCK_MS_MAX,
      unit: 'ms',
      reason: 'A request to the upstream may take ten seconds, and the front door gives up after 30 s.',
      whenMet: 'The command is sent, and the caller gets the answer of the upstream.',
      signal: 'The answer',
    },
    {
      name: 'Time after which a command of a `--settle` token is answered',
      value: SETTLE_MS_MAX,
      unit: 'ms',
      reason: 'The front door gives up after 30 s.',
      whenMet: 'The command is answered before its operations have ended.',
      signal: 'Header `bridge-command`; log line `command.answered_early`',
    },
    {
      name: 'Pause of a line after which its message is received again',
      value: HANDED_BACK_MS_MAX,
      unit: 'ms',
      reason: 'A sweep comes once a minute, and a hidden message holds back those that come after it.',
      whenMet: 'A longer pause ends with the next sweep.',
      signal: 'Log line `command.held` with `pause_ms`',
    },
    {
      name: 'Lines that one sweep wakes',
      value: SWEPT_LINES_MAX,
      unit: 'lines',
      reason: 'An account has at most that many waiting commands.',
      whenMet: 'Other lines are woken by their own messages and by later sweeps.',
      signal: 'No signal: the bound on waiting commands is met first.',
    },
  ],
};
