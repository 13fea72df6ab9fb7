/** The fields of the gateway's responses that the pages read. `/openapi.json` describes the complete responses. */
import * as z from 'zod';

export const UsageItem = z.object({
  day: z.string().optional(),
  workspaceId: z.string().optional(),
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional(),
  model: z.string().optional(),
  agent: z.string().optional(),
  calls: z.number(),
  failures: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.object({ amount: z.number(), currency: z.string() }).optional(),
});
export type UsageItem = z.infer<typeof UsageItem>;

export const UsageAnswer = z.object({
  items: z.array(UsageItem),
  next: z.number().optional(),
});

export const BudgetPeriod = z.enum(['day', 'month', 'total']);

/** The scopes that the form for a new key selects at first. Scopes that the caller does not have are left out. */
export const NEW_KEY_SCOPES = ['tasks:read', 'tasks:write', 'agents:use', 'cards:read'];

const ShownBudget = z.object({
  tokens: z.number().optional(),
  amount: z.number().optional(),
  currency: z.string().optional(),
  period: BudgetPeriod,
});

const Spent = z.object({ tokens: z.number(), amount: z.number() });

const ShownBudgetStatus = z.object({
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional(),
  budget: ShownBudget,
  spent: Spent,
  reserved: Spent,
  startsOn: z.string().optional(),
  resetsAt: z.string().optional(),
});
export type ShownBudgetStatus = z.infer<typeof ShownBudgetStatus>;
export const BudgetList = z.object({
  items: z.array(ShownBudgetStatus),
  next: z.number().optional(),
});

export const ShownKey = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  scopes: z.array(z.string()),
  status: z.enum(['active', 'expired', 'revoked', 'unusable']),
  createdAt: z.string(),
  expiresAt: z.string().optional(),
  lastUsedAt: z.string().optional(),
  rateLimit: z.object({ requestsPerMinute: z.number(), burst: z.number().optional() }).optional(),
  budget: ShownBudget.optional(),
});
export type ShownKey = z.infer<typeof ShownKey>;

export const KeyList = z.object({ items: z.array(ShownKey), total: z.number() });
export const NewSecret = z.object({ key: ShownKey, secret: z.string() });

const CardFields = {
  name: z.string(),
  slug: z.string(),
  description: z.string(),
  card: z.record(z.string(), z.unknown()),
  version: z.number(),
  createdAt: z.string(),
};
export const ShownCard = z.object({ ...CardFields, id: z.string(), updatedAt: z.string() });
export type ShownCard = z.infer<typeof ShownCard>;
export const CardList = z.object({ items: z.array(ShownCard), total: z.number() });
export const ShownVersion = z.object({ ...CardFields, createdBy: z.string() });
export type ShownVersion = z.infer<typeof ShownVersion>;
export const VersionList = z.object({ items: z.array(ShownVersion), total: z.number() });

export const AgentList = z.object({
  agents: z.array(
    z.object({
      name: z.string(),
      source: z.enum(['config', 'api']),
      description: z.string(),
      skills: z.array(z.object({ name: z.string() })),
      health: z.object({
        state: z.enum(['unknown', 'healthy', 'unhealthy']),
        since: z.string(),
        error: z.string().optional(),
      }),
    }),
  ),
});

export const AuditAnswer = z.object({
  items: z.array(
    z.object({
      number: z.number(),
      at: z.string(),
      actor: z.string(),
      actorName: z.string().optional(),
      action: z.string(),
      subject: z.string(),
      detail: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  next: z.number().optional(),
});
