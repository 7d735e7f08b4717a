/** Names the things of the local AWS as AWS does: all of them are in one region of one account. */

export const REGION = 'us-east-1';
export const ACCOUNT_ID = '000000000000';

export const busArn = (name: string): string => arn('events', `event-bus/${name}`);

/** The rule of the default bus has no bus in its ARN. */
export function ruleArn(busName: string, name: string): string {
  return arn('events', busName === 'default' ? `rule/${name}` : `rule/${busName}/${name}`);
}

export const connectionArn = (name: string, id: string): string => arn('events', `connection/${name}/${id}`);

export const apiDestinationArn = (name: string, id: string): string =>
  arn('events', `api-destination/${name}/${id}`);

export const queueArn = (name: string): string => arn('sqs', name);

/** Takes a name or an ARN. */
export function busNameOf(nameOrArn: string): string {
  return nameOrArn.replace(/^arn:[^:]*:events:[^:]*:[^:]*:event-bus\//, '');
}

function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT_ID}:${resource}`;
}
