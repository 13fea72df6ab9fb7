/** Names that the nodes and the run share. */
export const MODEL = 'm';
/** The name of the agent behind the gateway. */
export const BEHIND = 'faults';
export const SECRET_KEY = 'a secret that all nodes have';

/** The price of a token, in `CURRENCY`. Budgets in money are compared with tokens at this price. */
export const PRICE = 1e-6;
export const CURRENCY = 'USD';

/** The budget of each holder: a key or a workspace. It is used up after about a dozen calls. */
export const BUDGET = 2000;
/** A budget of so many tokens, in tokens or in money. */
export const budgetOf = (tokens: number, isMoney: boolean) => ({
  ...(isMoney ? { amount: tokens * PRICE, currency: CURRENCY } : { tokens }),
  period: 'total' as const,
});

/** The workspaces that have a budget: every second one in money. */
export const WORKSPACES = Array.from({ length: 30 }, (_, at) => ({
  name: `team-${at}`,
  isMoney: at % 2 === 1,
}));
