import { expect, test } from 'vitest';
import { sumFigures } from '../../shared/runtime/powertools-telemetry.ts';

test('counts add up, under a name of their own where a figure is split, and an unknown name counts as other', () => {
  const figures = sumFigures();
  figures.add('UpstreamRequests', 3);
  figures.add('UpstreamRequests', 4);
  figures.add('TransitionsByStatus', 1, 'finished');
  figures.add('TransitionsByStatus', 2, 'a status of next year');

  expect(figures.take()).toEqual({
    UpstreamRequests: 7,
    'TransitionsByStatus.finished': 1,
    'TransitionsByStatus.other': 2,
  });
});

test('durations are logged by their number, mean and maximum', () => {
  const figures = sumFigures();
  for (const delayMs of [100, 200, 600]) figures.add('DetectionDelayMs', delayMs);

  expect(figures.take()).toEqual({
    'DetectionDelayMs.count': 3,
    'DetectionDelayMs.mean': 300,
    'DetectionDelayMs.max': 600,
  });
});

test('what was taken is not logged again', () => {
  const figures = sumFigures();
  figures.add('AlertsSent', 1);
  figures.take();

  expect(figures.take()).toEqual({});
});
