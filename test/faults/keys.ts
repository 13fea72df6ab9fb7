/** Creates keys of the gateway, as `parley keys create` does. */
import { createAudit } from '../../src/gateway/audit/audit.ts';
import { createKeys } from '../../src/gateway/keys/keys.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { openPostgresRegister } from '../../src/gateway/register/postgres-register.ts';
import type { BudgetKey } from './gateway-clients.ts';
import { SECRET_KEY } from './names.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates one key for each budget in tokens. A key with the budget 0 has none. */
export async function createBudgetKeys(
  database: string,
  budgets: readonly number[],
): Promise<BudgetKey[]> {
  const register = await openPostgresRegister(database, quiet, { serves: false });
  try {
    const audit = createAudit({ register });
    const pepper = openPepper({ register, secretKey: SECRET_KEY });
    const keys = createKeys({ register, audit, pepper, logger: quiet });
    const made: BudgetKey[] = [];
    for (const tokens of budgets) {
      const wanted = { workspace: 'default', name: 'faults', scopes: ['*' as const] };
      const budget = tokens > 0 ? { budget: { tokens, period: 'total' as const } } : {};
      const { key, secret } = await keys.create({ ...wanted, ...budget }, 'faults');
      made.push({ id: key.id, secret, tokens });
    }
    return made;
  } finally {
    await register.close();
  }
}
