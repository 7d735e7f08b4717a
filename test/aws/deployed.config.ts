/** The configuration whose artefacts the tests start: two lanes, an own lane, a policy of alerts and a sign-in. */

import example from '../../bridge.config.example.ts';
import { defineBridge } from '../../infra/bridge-config.ts';

export default defineBridge({
  ...example,
  lanes: 2,
  own_lanes: [{ memory_mb: 512 }],
  alerts: {
    ...example.alerts,
    policy: {
      routes: [{ project_ids: ['a-quiet-project'], channels: [] }, { severity_min: 'info' }],
    },
  },
  api: {
    ...example.api,
    sign_in: {
      issuer: 'https://login.example.com',
      client_id: 'operations-bridge',
      account_id: 'main',
      roles: [{ value: 'everybody', scopes: ['viewer'] }],
    },
  },
});
