/** The simulated upstream in a process of its own, which no crash of the bridge touches; its parent asks it for the truth. */

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
tell({ kind: 'ready', baseUrl: upstream.baseUrl });
process.on('message', () => tell({ kind: 'truth', truth: upstream.world().groundTruth() }));
// Whoever started it has ended.
process.on('disconnect', () => process.exit(0));

function tell(message: FromUpstream): void {
  process.send?.(message);
}
