/** `operations-bridge redrive` has the parked events sent to the bus again. */

import { EXIT_CODES, UsageError } from '../../process/command.ts';
import { followReplay, replayStanding } from './replay.ts';
import { type Asked, asking } from './subcommand.ts';

export const redriveSubcommand = asking<{ readonly yes?: true }>({
  usage: 'redrive',
  summary: 'Sends parked events to the bus again, unmarked.',
  description:
    'An event is parked when the bus refused it for good (log line event.parked). The poller of the bridge sends all of them unchanged, so subscribers and alerts take them as news; ' +
    'what the bus refuses again stays parked. Mend the cause first. It needs a token with operations:read and events:replay. Ctrl-C ends the command and not the redrive: ' +
    '"operations-bridge replay --progress" shows it, and "operations-bridge replay --stop" stops it.',
  examples: ['operations-bridge redrive', 'operations-bridge redrive --yes --json'],
  exitCodes: {
    succeeded: 'no event is parked any more',
    failed: 'the redrive was stopped, or the bus refused events again',
  },
  options: [
    ['--yes', 'does not ask'],
    ['--json', 'prints the result as JSON'],
  ],
  act: runRedrive,
});

async function runRedrive(asked: Asked<{ readonly yes?: true }>): Promise<void> {
  const { clock, signal, note, confirm, exitWith, values } = asked;
  const client = await asked.connect();
  if (!values.yes) {
    if (confirm === undefined) throw new UsageError('Nothing was sent. Add --yes to send the parked events.');
    if (!(await confirm('Send all parked events to every subscriber, as news?')))
      return note('Nothing was sent.');
  }
  await client.read({ method: 'POST', path: '/bridge/v1/redrive' }, replayStanding);
  const ended = await followReplay({ clock, signal, note }, client);
  const { state, sent_count, refused_count } = ended;
  const refused = refused_count === 0 ? '' : ` The bus refused ${refused_count} again, which stay parked.`;
  const stopped = state === 'stopped' ? ' The redrive was stopped before its end.' : '';
  asked.show(ended, `${sent_count} parked events are sent.${refused}${stopped}`);
  if (state !== 'ended' || refused_count > 0) exitWith(EXIT_CODES.failed);
}
