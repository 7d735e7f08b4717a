/** `npm start` runs the whole bridge on this machine, with the real SDK clients over HTTP. */

import { systemClock } from '../../shared/runtime/clock.ts';
import { runCommand } from '../process/command.ts';
import { withDeadline } from '../process/deadline.ts';
import { runLocalBridge } from './local-bridge.ts';
import { parseStartOptions, START_HELP } from './start-options.ts';

await runCommand(async (signal) => {
  const options = parseStartOptions(process.argv.slice(2), process.env);
  if (options === undefined) return console.log(START_HELP);
  const isColoured = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;
  const print = (line: string) => console.log(line);
  const until = withDeadline(signal, options.forMs, systemClock);
  const slackWebhookUrl = process.env['SLACK_WEBHOOK_URL'];
  const style = { isColoured };
  await runLocalBridge(options, { signal: until, print, style, clock: systemClock, slackWebhookUrl });
});
