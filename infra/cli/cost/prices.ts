/** Lists what AWS charges in us-east-1, on demand, without free tiers, as of November 2026, in USD. */

export const prices = {
  lambdaPerGbSecondArm: 0.0000133334,
  lambdaPerMillionRequests: 0.2,
  dynamoDbPerMillionWriteUnits: 0.625,
  dynamoDbPerMillionReadUnits: 0.125,
  eventBridgePerMillionEvents: 1,
  schedulerPerMillionInvocations: 1,
  sqsPerMillionRequests: 0.4,
  sqsFifoPerMillionRequests: 0.5,
  xRayPerMillionTraces: 5,
  cloudWatchPerMetricMonth: 0.3,
  cloudWatchPerAlarmMonth: 0.1,
  logsPerGb: 0.5,
  secretPerMonth: 0.4,
  secretPerMillionReadings: 5,
} as const;
