/** Replaces the values that stand for parameters by references to these. */

import { PARAMETERS } from './parameters.ts';

/**
 * Returns the part of a template with a reference in the place of each stand-in. A text that contains one becomes an
 * `Fn::Sub`. A text whose parameters have a condition is left out when it does not hold. Throws when a name of a property contains one, because CloudFormation cannot compute these.
 */
export function withParameters(part: unknown): unknown {
  if (typeof part === 'string') return textWithParameters(part);
  if (Array.isArray(part)) return part.map(withParameters);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => {
      if (hasStandIn(name)) throw new Error(`The name of a property contains a stand-in: ${name}`);
      return [name, withParameters(value)];
    }),
  );
}

export function hasStandIn(text: string): boolean {
  return Object.values(PARAMETERS).some(({ standIn }) => text.includes(standIn));
}

function textWithParameters(text: string): unknown {
  if (!hasStandIn(text)) return text;
  const condition = Object.values(PARAMETERS).find(({ standIn }) => text.includes(standIn))?.condition;
  const computed = computedText(text);
  return condition === undefined ? computed : { 'Fn::If': [condition, computed, { Ref: 'AWS::NoValue' }] };
}

function computedText(text: string): unknown {
  const whole = Object.entries(PARAMETERS).find(([, { standIn }]) => standIn === text);
  if (whole !== undefined) return { Ref: whole[0] };
  // `${` is a reference in `Fn::Sub` and nowhere else, so that of the text itself is escaped first.
  let template = text.replaceAll('${', '${!');
  for (const [name, { standIn }] of Object.entries(PARAMETERS))
    template = template.replaceAll(standIn, `\${${name}}`);
  return { 'Fn::Sub': template };
}
