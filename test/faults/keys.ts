/** Creates keys of the gateway, as `parley keys create` does. */
import { createAudit } from '../../src/gateway/audit/audit.ts';
import { createKeys } from '../../src/gateway/keys/keys.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { openPostgresRegister } from '../../src/gateway/register/postgres-register.ts';
import type { BudgetHolder } from './gateway-clients.ts';
import { BUDGET, budgetOf, SECRET_KEY, WORKSPACES } from './names.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export interface MadeKeys {
  /** The holders of small budgets: keys and workspaces, in tokens and in money. */
  readonly small: readonly BudgetHolder[];
  /** A key with a budget that is not used up, and one without a budget. */
  readonly large: BudgetHolder;
  readonly unlimited: string;
}

/** Creates `count` keys with a small budget, the keys of the workspaces with a budget, and two other keys. */
export async function createBudgetKeys(
  database: string,
  count: number,
  largeBudget: number,
): Promise<MadeKeys> {
  const register = await openPostgresRegister(database, quiet, { serves: false });
  try {
    const audit = createAudit({ register });
    const pepper = openPepper({ register, secretKey: SECRET_KEY });
    const keys = createKeys({ register, audit, pepper, logger: quiet });
    const create = (workspace: string, budget?: ReturnType<typeof budgetOf>) =>
      keys.create(
        { workspace, name: 'faults', scopes: ['*' as const], ...(budget && { budget }) },
        'faults',
      );
    const withBudget = async (tokens: number, isMoney: boolean): Promise<BudgetHolder> => {
      const { key, secret } = await create('default', budgetOf(tokens, isMoney));
      return {
        name: `key ${key.id}`,
        counter: `key:default/${key.id}`,
        isMoney,
        tokens,
        keyIds: [key.id],
        secrets: [secret],
      };
    };
    // The keys of a workspace share its budget.
    const team = async ({ name, isMoney }: (typeof WORKSPACES)[number]): Promise<BudgetHolder> => {
      const made = [await create(name), await create(name)];
      return {
        name: `workspace ${name}`,
        counter: `workspace:${name}/`,
        isMoney,
        tokens: BUDGET,
        keyIds: made.map(({ key }) => key.id),
        secrets: made.map(({ secret }) => secret),
      };
    };
    const small: BudgetHolder[] = [];
    for (let at = 0; at < Math.max(count, WORKSPACES.length); at++) {
      const workspace = WORKSPACES[at];
      if (at < count) small.push(await withBudget(BUDGET, at % 2 === 1));
      if (workspace) small.push(await team(workspace));
    }
    const large = await withBudget(largeBudget, false);
    return { small, large, unlimited: (await create('default')).secret };
  } finally {
    await register.close();
  }
}
