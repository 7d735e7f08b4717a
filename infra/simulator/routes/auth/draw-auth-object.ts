/** Draws the id, the secrets and the creation time of a new auth object. */

import type { Random } from '../../../../shared/runtime/random.ts';
import { drawSecret, drawUuid } from '../../world/state/names.ts';
import type { World } from '../../world/world.ts';

/** A new auth object is drawn from these. */
export interface AuthRouteDeps {
  readonly world: World;
  /** Draws ids and keys. It is not the world's dice, so auth calls do not change the lives of projects. */
  readonly idDice: Random;
}

export function drawAuthObject({ world, idDice }: AuthRouteDeps) {
  const drawn = {
    id: drawUuid(idDice),
    secret: `ssk_${drawSecret(idDice)}`,
    publicKey: `pck_${drawSecret(idDice)}`,
  };
  return { drawn, createdAt: new Date(world.nowMs).toISOString() };
}
