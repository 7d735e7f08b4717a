/**
 * Draws ids of the forms that the service gives: `adjective-noun-digits`, `br-...`, `ep-...` and UUIDs; and names as
 * people give them.
 */

import type { Random } from '../../../shared/runtime/random.ts';

const ADJECTIVES =
  'autumn billowing bold calm cold crimson damp dawn delicate dry early fancy floral gentle green hidden holy icy late lingering long misty morning muddy old orange patient plain polished proud purple quiet rapid restless rough round shiny silent small snowy soft solitary spring still sweet twilight wandering wild winter wispy young'.split(
    ' ',
  );
const NOUNS =
  'bar base bird block boat bread breeze brook bush butterfly cake cell cherry cloud credit darkness dawn dew disk dream dust feather field fire firefly flower fog forest frog glade glitter grass hall hat haze heart hill king lab lake leaf limit math meadow mode moon morning mountain mouse mud night paper pine poetry pond rain recipe resonance rice river salad scene sea shadow shape silence sky smoke snow sound star sun sunset surf term thunder tooth tree truth union unit violet voice water wave wildflower wind wood'.split(
    ' ',
  );

const SUBJECTS =
  'accounts analytics billing booking catalog chat checkout content crm docs emails exports forum identity imports inventory invoices ledger maps media metrics orders payments payroll pricing profiles reports reviews search shipping support tickets webhooks wiki'.split(
    ' ',
  );
const STAGES = ['production', 'production', 'staging', 'development', 'preview', 'tests'];

export function drawProjectId(random: Random): string {
  return `${drawWords(random)}-${drawDigits(8, random)}`;
}

/** Draws a name such as `checkout-staging`. Several projects can have the same one. */
export function drawProjectName(random: Random): string {
  return `${pick(SUBJECTS, random)}-${pick(STAGES, random)}`;
}

export function drawBranchId(random: Random): string {
  return `br-${drawWords(random)}-a${drawText(7, random)}`;
}

export function drawEndpointId(random: Random): string {
  return `ep-${drawWords(random)}-a${drawText(7, random)}`;
}

/** The UUID has the form of version 4, and every digit comes from the seed. */
export function drawUuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16)).join('');
  const variant = '89ab'[Math.floor(random.next() * 4)] ?? '8';
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join('-');
}

/** Draws 64 letters and digits. */
export function drawSecret(random: Random): string {
  return drawText(64, random);
}

/** Draws sixteen letters and digits, which need no escape in a connection string. */
export function drawPassword(random: Random): string {
  return drawText(16, random);
}

export function drawDatabaseId(random: Random): number {
  return Number(drawDigits(7, random));
}

function drawWords(random: Random): string {
  return `${pick(ADJECTIVES, random)}-${pick(NOUNS, random)}`;
}

function drawDigits(count: number, random: Random): string {
  return String(Math.floor(random.next() * 9 * 10 ** (count - 1)) + 10 ** (count - 1));
}

function drawText(length: number, random: Random): string {
  return Array.from({ length }, () => Math.floor(random.next() * 36).toString(36)).join('');
}

function pick(words: readonly string[], random: Random): string {
  return words[Math.floor(random.next() * words.length)] ?? 'plain';
}
