/** A key as it is asked for and as it is shown. */
import * as z from 'zod';
import { SCOPES } from '../api/caller.ts';
import { Budget } from '../budgets/budget.ts';

const MAX_NAME_CHARS = 100;
const MAX_REQUESTS_PER_MINUTE = 1_000_000;
/** Thirty days. */
const MAX_OVERLAP_SECONDS = 2_592_000;

/** Whose things they are. It stands in addresses and in logs. */
export const WorkspaceName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i,
    'up to 64 letters and digits, with . _ - between them',
  );

/** Nothing that could move a terminal's cursor or hide in a list. */
const KeyName = z
  .string()
  .trim()
  .min(1, 'a name is needed')
  .max(MAX_NAME_CHARS, `at most ${MAX_NAME_CHARS} characters`)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'no control characters');

const KeyScope = z.enum([...SCOPES, '*'], `one of ${SCOPES.join(', ')}, or * for all`);

export const RateLimit = z.strictObject({
  requestsPerMinute: z
    .int()
    .min(1)
    .max(MAX_REQUESTS_PER_MINUTE)
    .describe('How many requests a minute a key has in the long run'),
  burst: z
    .int()
    .min(1)
    .max(MAX_REQUESTS_PER_MINUTE)
    .optional()
    .describe('How many at once; as many as a minute has, unless told'),
});
export type RateLimit = Readonly<z.infer<typeof RateLimit>>;

export const NewKey = z.strictObject({
  name: KeyName,
  scopes: z.array(KeyScope).min(1, 'at least one scope').max(32),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
  rateLimit: RateLimit.optional(),
  budget: Budget.optional(),
});
export type NewKey = Readonly<z.input<typeof NewKey>>;

export const Rotation = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_SECONDS)
    .optional()
    .describe('How long the old secret still works; 0 unless told'),
});
export type Rotation = Readonly<z.infer<typeof Rotation>>;

export const Key = z.object({
  id: z.string(),
  workspaceId: WorkspaceName,
  name: z.string(),
  /** How the key begins: enough to recognise it, and no secret. */
  prefix: z.string(),
  scopes: z.array(KeyScope),
  /** `unusable`: made under another PARLEY_SECRET_KEY or pepper, so that it can match nothing. */
  status: z.enum(['active', 'expired', 'revoked', 'unusable']),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  rotatedAt: z.iso.datetime().optional(),
  /** An older secret works until then. */
  overlapEndsAt: z.iso.datetime().optional(),
  revokedAt: z.iso.datetime().optional(),
  /** To the minute. */
  lastUsedAt: z.iso.datetime().optional(),
  rateLimit: RateLimit.optional(),
  budget: Budget.optional(),
});
export type Key = Readonly<z.infer<typeof Key>>;

/** A key with its secret, which is shown this once. */
export const MadeKey = z.object({ key: Key, secret: z.string() });
export type MadeKey = Readonly<z.infer<typeof MadeKey>>;
