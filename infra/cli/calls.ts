/** `npm run calls` names the calls and parameters of the two installed public clients that the bridge's table lacks. Run it after an update of either. */

import { runCommand, UsageError } from '../process/command.ts';
import { clientCalls, compareCalls, ownCalls } from './client-calls.ts';

await runCommand(async () => {
  const ofClient = clientCalls();
  const { lacking, gone } = compareCalls(ofClient, ownCalls());
  console.log(`The clients declare ${new Set(ofClient.map(({ request }) => request)).size} calls.`);
  const faults = [
    ...lacking.map((call) => `The table lacks ${call}; add it under shared/upstream/calls.`),
    ...gone.map((call) => `No client declares ${call}, which the table has.`),
  ];
  if (faults.length > 0) throw new UsageError(faults.join('\n'));
  console.log('The table has all of them.');
});
