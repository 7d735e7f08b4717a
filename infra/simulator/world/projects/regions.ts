/** Lists the regions in which projects can be created (public contract: `GET /regions`). */

interface Region {
  readonly id: string;
  readonly name: string;
  readonly latitude: string;
  readonly longitude: string;
}

export const REGIONS: readonly Region[] = [
  { id: 'aws-us-east-1', name: 'AWS US East 1 (N. Virginia)', latitude: '38.13', longitude: '-78.45' },
  { id: 'aws-us-east-2', name: 'AWS US East 2 (Ohio)', latitude: '39.96', longitude: '-83.00' },
  { id: 'aws-us-west-2', name: 'AWS US West 2 (Oregon)', latitude: '46.15', longitude: '-123.88' },
  { id: 'aws-eu-central-1', name: 'AWS Europe Central 1 (Frankfurt)', latitude: '50.00', longitude: '8.00' },
  { id: 'aws-eu-west-2', name: 'AWS Europe West 2 (London)', latitude: '51.51', longitude: '-0.13' },
  { id: 'aws-ap-southeast-1', name: 'AWS Asia Pacific 1 (Singapore)', latitude: '1.37', longitude: '103.80' },
  { id: 'aws-ap-southeast-2', name: 'AWS Asia Pacific 2 (Sydney)', latitude: '-33.86', longitude: '151.20' },
  {
    id: 'aws-sa-east-1',
    name: 'AWS South America East 1 (São Paulo)',
    latitude: '-23.55',
    longitude: '-46.63',
  },
];

export function isRegion(regionId: string): boolean {
  return REGIONS.some(({ id }) => id === regionId);
}
