/**
 * Runs the simulated upstream in a process of its own, which no crash of the bridge affects. Its parent asks it for
 * the truth.
 */

import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import type { FromUpstream, UpstreamSettings } from './messages.ts';

const settings = JSON.parse(process.argv[2] ?? '{}') as UpstreamSettings;
const upstream = await startUpstream({
  seed: settings.seed,
  projectCount: settings.projectCount,
  apiKeys: [settings.apiKey],
  sessionsPerHour: settings.sessionsPerHour,
  historyMs: settings.historyMs,
});
send({ kind: 'ready', baseUrl: upstream.baseUrl });
process.on('message', () => send({ kind: 'truth', truth: upstream.world().groundTruth() }));
// The parent has ended.
process.on('disconnect', () => process.exit(0));

function send(message: FromUpstream): void {
  process.send?.(message);
}
