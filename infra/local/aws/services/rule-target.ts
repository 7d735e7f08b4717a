/** Defines a target as PutTargets takes it (EventBridge API Reference, Target). */

import { z } from 'zod';

const parameters = z.record(z.string(), z.string()).default({});

export const ruleTarget = z.object({
  Id: z.string().regex(/^[.\-_A-Za-z0-9]{1,64}$/),
  Arn: z.string().min(1).max(1_600),
  RoleArn: z.string().optional(),
  Input: z.string().max(8_192).optional(),
  InputPath: z.string().max(256).optional(),
  InputTransformer: z
    .object({
      InputPathsMap: z.record(z.string(), z.string().max(256)).default({}),
      InputTemplate: z.string().min(1).max(8_192),
    })
    .optional(),
  HttpParameters: z
    .object({
      PathParameterValues: z.array(z.string()).default([]),
      HeaderParameters: parameters,
      QueryStringParameters: parameters,
    })
    .optional(),
  DeadLetterConfig: z.object({ Arn: z.string().optional() }).optional(),
  RetryPolicy: z
    .object({
      MaximumRetryAttempts: z.number().int().min(0).max(185).optional(),
      MaximumEventAgeInSeconds: z.number().int().min(60).max(86_400).optional(),
    })
    .optional(),
});

export type RuleTarget = z.output<typeof ruleTarget>;
