/** Defines what a parameter of the released template is, and the form of those that name a secret. */

export interface Parameter {
  readonly description: string;
  readonly pattern: string;
  readonly constraint: string;
  readonly default?: string;
  /** Values are counted against the room in the environment of a function. */
  readonly maxLength?: number;
  /** What contains the parameter is left out of the template when this condition of it does not hold. */
  readonly condition?: 'HasSignIn';
  /** The configuration takes this value in the place of the parameter. It must be found nowhere else. */
  readonly standIn: string;
}

export const SECRET_ARN =
  '^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\\d{12}:secret:[\\w/+=.@-]+-[A-Za-z0-9]{6}$';
export const COMPLETE_ARN = 'The ARN must be complete, with its suffix of six characters.';
export function secretStandIn(name: string): string {
  return `arn:aws:secretsmanager:eu-central-1:000000000000:secret:stand-in-of-${name}-AbCdEf`;
}

/** Lambda gives all variables of a function 4 kB, so an ARN must not take all of it. */
export const ARN_CHARACTERS_MAX = 300;
