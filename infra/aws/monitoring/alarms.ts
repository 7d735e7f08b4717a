/** Deploys every alarm. Each says what it means for people, and where to read what to do. */

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import type { Api } from '../resources/api.ts';
import type { BridgeBus } from '../resources/bridge-bus.ts';
import type { Commands } from '../resources/commands.ts';
import type { Notifier } from '../resources/notifier.ts';
import type { Poller } from '../resources/poller.ts';
import type { AlarmDefinition } from './alarm-definition.ts';
import { alarmTopic } from './alarm-topic.ts';
import { alertAlarms } from './alert-alarms.ts';
import { apiAlarms } from './api-alarms.ts';
import { commandAlarms } from './command-alarms.ts';
import { deliveryAlarms } from './delivery-alarms.ts';
import { functionAlarms, pollerFailureAlarm, reservationAlarms } from './function-alarms.ts';
import { pollingAlarms } from './polling-alarms.ts';

export interface AlarmParts {
  readonly dataKey: kms.IKey | undefined;
  readonly config: BridgeConfig;
  readonly events: BridgeBus;
  readonly poller: Poller;
  readonly api: Api;
  readonly commands: Commands;
  readonly notifier: Notifier;
}

export class Alarms extends Construct {
  constructor(scope: Construct, parts: AlarmParts) {
    super(scope, 'Alarms');
    const action = new SnsAction(alarmTopic(this, parts.config, parts.dataKey));
    for (const definition of definitionsOf(parts)) {
      const { name, means, metric, threshold, isBelow, periods = 1, missing } = definition;
      const article = name.replace(/:.*/, '');
      const alarm = new cloudwatch.Alarm(this, name.replaceAll(':', '-'), {
        alarmName: `${parts.config.name}-${name.replaceAll(':', '-')}`,
        alarmDescription: `${means} Runbook: ${parts.config.runbook_url}#${article}`,
        metric,
        threshold,
        evaluationPeriods: periods,
        comparisonOperator: isBelow
          ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
          : cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treatMissingData: missing ?? cloudwatch.TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }
}

function definitionsOf(parts: AlarmParts): readonly AlarmDefinition[] {
  const { config, events, poller, api, commands, notifier } = parts;
  return [
    ...pollingAlarms(config),
    ...deliveryAlarms(events),
    ...alertAlarms(config.name, notifier),
    ...apiAlarms(config.name, api),
    ...commandAlarms(config.name, commands),
    pollerFailureAlarm(poller.failures),
    // An invocation of the poller that fails, is killed or does not begin is in its queue of failures, which has the alarm above.
    ...[api.fn, commands.fn, notifier.fn].flatMap(functionAlarms),
    ...reservationAlarms(api.fn, config.reserved_concurrency.api),
  ];
}
