/** `operations-bridge start` runs the whole bridge on this machine, with the real SDK clients over HTTP. */

import type { Command } from 'commander';
import { declareStartOptions, readStartOptions, type StartValues } from '../../local/start-options.ts';
import { type Surroundings, withDeadline } from '../../process/surroundings.ts';
import { announceLocalRun } from '../connection.ts';
import { createSubcommand } from './subcommand.ts';

export function startSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'start',
    summary:
      'Runs the whole bridge on this machine: simulated upstream, embedded AWS, events in the terminal.',
    description:
      'The other subcommands find the bridge that was started last on this machine and still runs, without an address or a token.',
    examples: [
      'operations-bridge start',
      'operations-bridge start --speed 10 --projects 25 --seed 7 --for 60s',
      'SIGN_IN_CLIENT_SECRET=... operations-bridge start --api-port 8080 --sign-in sign-in.json',
      'UPSTREAM_API_KEY=... operations-bridge start --upstream https://host/api/v2 --data ./state',
    ],
  });
  return declareStartOptions(command).action(async (values: StartValues) => {
    const { environment, signal, clock, print, isColoured } = surroundings;
    const options = readStartOptions(values, environment);
    // What a run keeps is about an account: no other user may read it, whichever library writes the file.
    process.umask(0o077);
    const { runLocalBridge } = await import('../../local/local-bridge.ts');
    const until = withDeadline(signal, options.forMs, clock);
    using announced = announceLocalRun(environment, process.pid);
    const say = (fact: object) => print(JSON.stringify(fact));
    const isJson = values.json === true;
    await runLocalBridge(options, {
      signal: until,
      print: isJson ? (text) => say({ kind: 'note', text }) : print,
      style: { isColoured: isColoured && !isJson },
      clock,
      channelSecrets: environment,
      onReady(addresses) {
        announced.write(addresses);
        const { url, token, awsEndpoint: aws_endpoint, accessKeyId: access_key_id } = addresses;
        if (isJson) say({ kind: 'ready', url, token, aws_endpoint, access_key_id });
      },
      ...(isJson && {
        facts: {
          event: (event) => say({ kind: 'event', event }),
          end: (figures) => say({ kind: 'end', ...figures }),
        },
      }),
    });
  });
}
