/** The schemas of API keys in requests and responses. */
import * as z from 'zod';
import { SCOPES } from '../api/caller.ts';
import { integer } from '../api/fields.ts';
import { Budget } from '../budgets/budget.ts';

const MAX_NAME_CHARS = 100;
const MAX_REQUESTS_PER_MINUTE = 1_000_000;
/** Maximum time for which an old secret works after a rotation: thirty days. */
const MAX_OVERLAP_SECONDS = 2_592_000;

/** A workspace's name. It appears in addresses and in logs. */
export const WorkspaceName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i,
    'up to 64 letters, digits and . _ -, starting and ending with a letter or digit',
  );

/** A name must not contain characters that could move a terminal's cursor or be invisible in a list. */
const KeyName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_NAME_CHARS, `at most ${MAX_NAME_CHARS} characters`)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'no control characters');

const KeyScope = z.enum([...SCOPES, '*'], `one of ${SCOPES.join(', ')}, or * for all`);

const requests = integer(1, MAX_REQUESTS_PER_MINUTE);

export const RateLimit = z.strictObject({
  requestsPerMinute: requests.describe('Average number of requests per minute'),
  burst: requests
    .optional()
    .describe('Maximum number of requests in a burst. Default: requestsPerMinute'),
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

/** A change of a key. Missing fields are not changed. `null` removes an expiry, a rate limit or a budget. */
export const KeyChange = NewKey.extend({
  expiresAt: NewKey.shape.expiresAt.nullable(),
  rateLimit: RateLimit.nullable(),
  budget: Budget.nullable(),
})
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'the change has no fields');
export type KeyChange = Readonly<z.input<typeof KeyChange>>;

export const Rotation = z.strictObject({
  overlapSeconds: integer(0, MAX_OVERLAP_SECONDS)
    .optional()
    .describe('How long the old secret still works. Default: 0'),
});
export type Rotation = Readonly<z.infer<typeof Rotation>>;

export const Key = z.object({
  id: z.string(),
  workspaceId: WorkspaceName,
  name: z.string(),
  /** The start of the secret. It is enough to recognize the secret, but not enough to use it. */
  prefix: z.string(),
  scopes: z.array(KeyScope),
  /**
   * A key is `unusable` if its current secret was created with another PARLEY_SECRET_KEY or pepper file. Such a secret
   * cannot be verified.
   */
  status: z.enum(['active', 'expired', 'revoked', 'unusable']),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  rotatedAt: z.iso.datetime().optional(),
  /** The time until which an older secret also works. */
  overlapEndsAt: z.iso.datetime().optional(),
  revokedAt: z.iso.datetime().optional(),
  /** The time of the last use. It is stored at most once a minute, so it may be up to a minute too early. */
  lastUsedAt: z.iso.datetime().optional(),
  rateLimit: RateLimit.optional(),
  budget: Budget.optional(),
});
export type Key = Readonly<z.infer<typeof Key>>;

/** A key with its new secret. The secret is shown only once. */
export const MadeKey = z.object({ key: Key, secret: z.string() });
export type MadeKey = Readonly<z.infer<typeof MadeKey>>;
