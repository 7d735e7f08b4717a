/** `npm run calls` names the calls of the installed public client that the bridge's table lacks. Run it after an update of the client. */

import { runCommand, UsageError } from '../process/command.ts';
import { clientCalls, compareCalls, ownCalls } from './client-calls.ts';

await runCommand(async () => {
  const ofClient = clientCalls();
  const { lacking, gone } = compareCalls(ofClient, ownCalls());
  console.log(`The client declares ${ofClient.length} calls.`);
  const faults = [
    ...lacking.map((call) => `The table lacks ${call}; add it under shared/upstream/public-calls.`),
    ...gone.map((call) => `The client does not declare ${call}, which the table has.`),
  ];
  if (faults.length > 0) throw new UsageError(faults.join('\n'));
  console.log('The table has the same calls.');
});
