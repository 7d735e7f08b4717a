/** Defines the alarms about queued commands: wakes that were given up, and commands that cannot be worked on. */

import type { Commands } from '../resources/commands.ts';
import { type AlarmDefinition, depthOf, FIVE_MINUTES } from './alarm-definition.ts';
import { bridgeMetric } from './metrics.ts';

export function commandAlarms(bridgeName: string, { deadLetters }: Commands): readonly AlarmDefinition[] {
  const sum = { statistic: 'Sum', period: FIVE_MINUTES };
  return [
    {
      name: 'commands-dead-letters',
      means:
        'The worker failed five times for one project: queued commands of it may wait until their deadlines.',
      metric: depthOf(deadLetters),
      threshold: 0,
    },
    {
      name: 'commands-unworkable',
      means: 'A queued command could not be read or opened; it settled as failed and was not sent.',
      metric: bridgeMetric('CommandsUnworkable', bridgeName, sum),
      threshold: 0,
    },
  ];
}
