/**
 * `parley keys`: creates, lists, changes, rotates and revokes the API keys of a gateway. It needs access to the
 * gateway's data: to the SQLite file on the same machine, or to the PostgreSQL database. The gateway may be running.
 * With SQLite, a change applies to the next request that the gateway receives. With PostgreSQL, the gateway usually
 * applies a change within a second.
 */
import { existsSync } from 'node:fs';
import { DEFAULT_SCOPES, DEFAULT_WORKSPACE, SCOPES } from '../../gateway/index.ts';
import { type Register, registerPath } from '../../gateway/register/index.ts';
import { needSecretKey, openGatewayRegister, unusableKeys } from '../gateway/open-register.ts';
import {
  BUDGET_PERIODS,
  createAudit,
  createKeys,
  readKeySpending,
  type Keys,
  type Budget,
  type Key,
  type KeyChange,
  type MadeKey,
  type NewKey,
} from '../../gateway/keys/index.ts';
import type { MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import {
  type Command,
  type CommandInput,
  type CommandTable,
  commandRows,
  defineCommand,
  runFrom,
} from '../program/command.ts';
import { EXIT, ExitError, usageError } from '../program/exit.ts';
import {
  choice,
  type Flag,
  listOption,
  option,
  toggle,
  type Values,
  wholeNumber,
} from '../program/flags.ts';
import { createLog } from '../program/log.ts';
import { timeOf } from '../program/render.ts';
import { storeLocation } from '../program/store-location.ts';
import {
  columns,
  bold,
  dim,
  green,
  note,
  quoted,
  red,
  say,
  sayJson,
  word,
  yellow,
} from '../program/terminal.ts';

const ACTOR = 'cli';
const DAY_MS = 86_400_000;
const MAX_EXPIRY_DAYS = 3650;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Returns the flag without its environment variable. Variables such as PARLEY_NAME and PARLEY_WORKSPACE are for other
 * commands, so they must not change a key.
 */
function typedOnly<F extends Flag>(flag: F) {
  return { ...flag, variable: false } as const;
}

const COMMON = {
  workspace: typedOnly(option('NAME', `The workspace; by default "${DEFAULT_WORKSPACE}".`)),
  store: option(
    'S',
    'The same value as --store of parley gateway: sqlite:PATH or postgres://…. By default, the store in the data folder.',
  ),
  json: toggle('Print one JSON object.'),
} as const;

type KeysInput = Pick<CommandInput<typeof COMMON>, 'values' | 'environment'>;

const BUDGET_FLAGS = {
  'budget-tokens': typedOnly(option('N', 'The maximum number of tokens.')),
  'budget-amount': typedOnly(option('AMOUNT', 'The maximum cost.')),
  'budget-currency': typedOnly(option('CODE', 'The currency of the amount; USD by default.')),
  'budget-period': typedOnly(
    choice(
      'PERIOD',
      BUDGET_PERIODS,
      'The period of the budget: day, month (the default) or total.',
    ),
  ),
} as const;

const create = defineCommand({
  about: `Creates a key and prints it once. The possible scopes are ${SCOPES.join(', ')}, and * for all.`,
  flags: {
    name: typedOnly(option('TEXT', 'What the key is for. Required.')),
    scope: typedOnly(listOption('SCOPE', `A permission; by default ${DEFAULT_SCOPES.join(', ')}.`)),
    expires: typedOnly(
      option(
        'WHEN',
        'When the key expires: a time (2027-01-31T00:00:00Z) or a number of days (30d).',
      ),
    ),
    rate: typedOnly(option('N', 'The maximum number of requests per minute.')),
    ...BUDGET_FLAGS,
    ...COMMON,
  },
  examples: [
    'parley keys create --name ci --expires 90d',
    "parley keys create --name admin --scope '*'",
    'parley keys create --name team --budget-amount 50 --budget-period month',
  ],
  async run(input) {
    const { values } = input;
    if (values.name === undefined) {
      throw usageError('parley keys create needs --name, for example --name ci');
    }
    const budget = budgetOf(values);
    const fields = {
      name: values.name,
      // The gateway's schema checks the scopes.
      scopes: values.scope.length > 0 ? (values.scope as NewKey['scopes']) : [...DEFAULT_SCOPES],
      ...(values.expires !== undefined && { expiresAt: expiry(values.expires) }),
      ...(values.rate !== undefined && { rateLimit: rateLimit(values.rate) }),
      ...(budget && { budget }),
    };
    const made = await withKeys(input, true, async (keys, workspace) => {
      await checkSecretKey(keys);
      return keys.create({ workspace, ...fields }, ACTOR);
    });
    printMade(made, values.json, 'The secret is shown only now: store it in a safe place.');
  },
});

const list = defineCommand({
  about:
    'Lists the keys of a workspace, the newest first. Shows how much of each budget is spent, but not the secrets.',
  flags: {
    ...COMMON,
    json: toggle('Print one JSON object per line.'),
  },
  examples: ['parley keys list', 'parley keys list --workspace team --json'],
  async run(input) {
    const { json, workspace: named = DEFAULT_WORKSPACE } = input.values;
    const items = await withKeys(input, false, async (keys, workspace, register) => {
      const spent = await readKeySpending(register, workspace);
      const withSpent = (key: Key): ListedKey =>
        key.budget ? { ...key, spent: spent(key.id, key.budget) } : key;
      return (await keys.list(workspace)).items.map(withSpent);
    });
    if (json) for (const key of items) sayJson(key);
    else if (items.length === 0) noteNone(named);
    else printTable(items);
  },
});

const set = defineCommand({
  operands: ['ID'],
  about:
    'Changes the settings of a key. Only the given settings change. A running gateway usually applies them within a second. The key keeps its secret and its spending.',
  flags: {
    name: typedOnly(option('TEXT', 'What the key is for.')),
    scope: typedOnly(
      listOption('SCOPE', 'The permissions. They replace all permissions that the key has.'),
    ),
    expires: typedOnly(
      option(
        'WHEN',
        'When the key expires: a time (2027-01-31T00:00:00Z), a number of days (30d), or the word never.',
      ),
    ),
    rate: typedOnly(
      option('N', 'The maximum number of requests per minute. The word none removes the limit.'),
    ),
    ...BUDGET_FLAGS,
    'no-budget': typedOnly(toggle('Remove the budget.')),
    ...COMMON,
  },
  examples: [
    'parley keys set ID --budget-tokens 2000000',
    'parley keys set ID --rate 60 --expires never',
    'parley keys set ID --scope tasks:read --scope tasks:write',
  ],
  async run(input) {
    const { values, operands } = input;
    const [id = ''] = operands;
    const { name, scope, expires, rate, 'no-budget': noBudget } = values;
    const key = await withKeys(input, false, async (keys, workspace) => {
      const before = await keys.get(workspace, id);
      const budget = budgetOf(values, before.budget);
      if (noBudget && budget)
        throw usageError('use either --no-budget or the other budget flags, not both');
      const change: KeyChange = {
        ...(name !== undefined && { name }),
        // The gateway's schema checks the scopes.
        ...(scope.length > 0 && { scopes: scope as NewKey['scopes'] }),
        ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expiry(expires) }),
        ...(rate !== undefined && {
          rateLimit: rate === 'none' ? null : rateLimit(rate, before.rateLimit),
        }),
        ...(budget && { budget }),
        ...(noBudget && { budget: null }),
      };
      if (Object.keys(change).length === 0) {
        throw usageError('parley keys set needs a setting, for example --budget-tokens 2000000');
      }
      // `force` allows a change of the last key with keys:write, because a person who can run this command can create
      // another key.
      return keys.edit(workspace, id, change, ACTOR, { force: true });
    });
    printChanged(key, values.json, 'changed');
  },
});

const rotate = defineCommand({
  operands: ['ID'],
  about:
    'Gives a key a new secret and prints it once. The key keeps its id, its settings and its spending.',
  flags: {
    overlap: option(
      'TIME',
      'How long the old secret keeps working, for example 90s, 15m, 24h or 7d. By default it stops working at once, or with PostgreSQL usually within a second.',
    ),
    ...COMMON,
  },
  examples: ['parley keys rotate ID --overlap 24h'],
  async run(input) {
    const { values, operands } = input;
    const overlapSeconds = values.overlap === undefined ? 0 : seconds('--overlap', values.overlap);
    const made = await withKeys(input, false, async (keys, workspace) => {
      await checkSecretKey(keys);
      return keys.rotate(workspace, String(operands[0]), { overlapSeconds }, ACTOR);
    });
    const { overlapEndsAt } = made.key;
    const until =
      overlapEndsAt === undefined ? 'no longer works' : `works until ${timeOf(overlapEndsAt)}`;
    printMade(made, values.json, `The new secret is shown only now. The old secret ${until}.`);
  },
});

const revoke = defineCommand({
  operands: ['ID'],
  about: 'Revokes a key permanently. A running gateway usually refuses it within a second.',
  flags: COMMON,
  examples: ['parley keys revoke ID'],
  async run(input) {
    const { values, operands } = input;
    // `force` allows the revocation of the last key with keys:write, because a person who can run this command can
    // create another key.
    const key = await withKeys(input, false, (keys, workspace) =>
      keys.revoke(workspace, String(operands[0]), { force: true }, ACTOR),
    );
    printChanged(key, values.json, 'revoked');
  },
});

const ACTIONS: CommandTable = {
  create: { about: 'Create a key', load: async () => create },
  list: { about: 'List the keys of a workspace', load: async () => list },
  set: { operands: 'ID', about: 'Change the settings of a key', load: async () => set },
  rotate: { operands: 'ID', about: 'Give a key a new secret', load: async () => rotate },
  revoke: { operands: 'ID', about: 'Revoke a key', load: async () => revoke },
};

const keys: Command = async (name, args, environment) => {
  const [action] = args;
  if (action === '--help' || action === '-h') {
    process.stdout.write(help(name));
    return EXIT.done;
  }
  if (action === undefined || action.startsWith('-')) {
    const names = Object.keys(ACTIONS).join(', ');
    throw usageError(`${name} needs an action: ${names}; see ${name} --help`);
  }
  return runFrom(ACTIONS, name, args, environment, { noun: 'action' });
};
export default Object.assign(keys, { actions: ACTIONS });

function help(name: string): string {
  return [
    `${bold(name)} ACTION [flags]`,
    '',
    'Creates, lists, changes, rotates and revokes the API keys of a gateway. The command needs access to the store of the gateway: the SQLite file, or the PostgreSQL database. You do not need to stop the gateway.',
    '',
    bold('Actions'),
    ...commandRows(ACTIONS, name),
    '',
    bold('Examples'),
    '  parley keys create --name ci --expires 90d',
    '  parley keys list',
    '',
    dim('parley keys ACTION --help shows the flags of an action.'),
    '',
  ].join('\n');
}

/**
 * Opens the gateway's register and runs `work`. If the register file is missing, creates it (`create` is true) or
 * throws (`create` is false). Converts the errors of the gateway to one-line errors.
 */
async function withKeys<Result>(
  { values, environment }: KeysInput,
  create: boolean,
  work: (keys: Keys, workspace: string, register: Register) => MaybePromise<Result>,
): Promise<Result> {
  const { workspace = DEFAULT_WORKSPACE } = values;
  const place = storeLocation(values, environment, 'gateway');
  if (place.kind === 'memory') {
    throw usageError(
      'this command cannot access the keys of a gateway with --store memory: use its API (/a2a/keys), or --store sqlite:PATH',
    );
  }
  needSecretKey(place, environment);
  const path = place.kind === 'sqlite' ? registerPath(place.file) : undefined;
  if (!create && path !== undefined && !existsSync(path)) {
    throw usageError(
      `there is no gateway register at ${path}: set --store to the store of the gateway, or create a key with parley keys create`,
    );
  }
  const logger = createLog(environment);
  try {
    const { register, pepper } = await openGatewayRegister(place, environment, logger);
    try {
      const audit = createAudit({ register });
      return await work(createKeys({ register, audit, pepper, logger }), workspace, register);
    } finally {
      await register.close();
    }
  } catch (error) {
    throw error instanceof A2AError ? refused(error) : error;
  } finally {
    await logger.flush();
  }
}

/** The flags for fields that the gateway's schemas check. Error messages name the flag instead of the field. */
const FLAG_OF: Readonly<Record<string, string>> = {
  workspace: '--workspace',
  name: '--name',
  scopes: '--scope',
  expiresAt: '--expires',
  'budget.amount': '--budget-amount',
  'budget.currency': '--budget-currency',
  overlapSeconds: '--overlap',
};

function refused(error: A2AError): ExitError {
  const line = word(error.message);
  switch (error.kind) {
    case 'invalidParams': {
      const flagged = line.replace(/^([\w.]+?)(?:\.\d+)?: /, (start, field: string) => {
        const flag = FLAG_OF[field];
        return flag === undefined ? start : `${flag}: `;
      });
      return usageError(flagged, { cause: error });
    }
    case 'notFound':
      return new ExitError(EXIT.failed, `${line}: parley keys list shows the keys`, {
        cause: error,
      });
    default:
      return new ExitError(EXIT.failed, line, { cause: error });
  }
}

/**
 * Throws if a stored key was created with another PARLEY_SECRET_KEY or pepper file. The gateway probably uses that
 * other secret, and would not accept a key that this process creates.
 */
async function checkSecretKey(keys: Keys): Promise<void> {
  const count = await keys.unusable();
  if (count === 0) return;
  throw usageError(
    `${unusableKeys(count)}: set PARLEY_SECRET_KEY to the value that the gateway has (or unset it if the gateway has none), or revoke the keys that parley keys list shows as unusable`,
  );
}

function printMade({ key, secret }: MadeKey, json: boolean, remark: string): void {
  if (json) return sayJson({ key, secret });
  say(secret);
  note(`Key ${key.id} (${word(key.name)}) of workspace ${key.workspaceId}. ${remark}`);
  note(
    `Send it in a header: "Authorization: Bearer ${key.prefix}_…" or "x-api-key: ${key.prefix}_…".`,
  );
}

function printChanged(key: Key, json: boolean, what: 'changed' | 'revoked'): void {
  if (json) sayJson({ key });
  else say(`${key.id} (${word(key.name)}) is ${what}`);
}

function noteNone(workspace: string): void {
  const flag = workspace === DEFAULT_WORKSPACE ? '' : ` --workspace ${quoted(workspace)}`;
  note(
    `There are no keys in the workspace ${word(workspace)}. To create one: parley keys create --name NAME${flag}`,
  );
}

type RateLimit = NonNullable<NewKey['rateLimit']>;
type Spent = Pick<Budget, 'tokens' | 'amount'>;
type ListedKey = Key & { readonly spent?: Spent };

function printTable(items: readonly ListedKey[]): void {
  const head = ['ID', 'KEY', 'STATUS', 'EXPIRES', 'LAST USED', 'BUDGET', 'SPENT', 'SCOPES', 'NAME'];
  const paint = { active: green, expired: yellow, revoked: dim, unusable: red };
  const rows = items.map((key) => [
    key.id,
    `${key.prefix}_…`,
    paint[key.status](key.status),
    timeOf(key.expiresAt),
    timeOf(key.lastUsedAt),
    key.budget ? `${amounts(key.budget, key.budget)} (${key.budget.period})` : '–',
    key.budget && key.spent ? amounts(key.budget, key.spent) : '–',
    key.scopes.join(' '),
    word(key.name),
  ]);
  for (const line of columns([head.map(dim), ...rows])) say(line);
}

/** Returns the tokens, the amount, or both, depending on what the budget limits. */
function amounts(budget: Budget, { tokens = 0, amount = 0 }: Spent): string {
  const say = (number: number) => number.toLocaleString('en-US', { maximumFractionDigits: 6 });
  return [
    ...(budget.tokens === undefined ? [] : [`${say(tokens)} tokens`]),
    ...(budget.amount === undefined ? [] : [`${say(amount)} ${budget.currency}`]),
  ].join(', ');
}

/** Returns the rate limit that the flag describes. Keeps the previous burst, or lowers the burst to the new rate. */
function rateLimit(text: string, before?: RateLimit): RateLimit {
  const requestsPerMinute = wholeNumber('--rate', text, { min: 1, max: 1e6 });
  const burst = before?.burst;
  return {
    requestsPerMinute,
    ...(burst !== undefined && { burst: Math.min(burst, requestsPerMinute) }),
  };
}

/**
 * Returns the budget that the flags describe, or undefined if no budget flag is given. A setting whose flag is not
 * given keeps its value from `before`.
 */
function budgetOf(values: Values<typeof BUDGET_FLAGS>, before?: Budget): Budget | undefined {
  const { 'budget-tokens': tokens, 'budget-amount': amount } = values;
  const { 'budget-currency': code, 'budget-period': named } = values;
  if ([tokens, amount, code, named].every((value) => value === undefined)) return undefined;
  const hasAmount = amount !== undefined || before?.amount !== undefined;
  if (code !== undefined && !hasAmount) {
    throw usageError('--budget-currency needs --budget-amount');
  }
  if (!before && tokens === undefined && amount === undefined) {
    throw usageError('--budget-period needs --budget-tokens or --budget-amount');
  }
  return {
    ...before,
    ...(tokens !== undefined && {
      tokens: wholeNumber('--budget-tokens', tokens, { min: 1, max: 1e12 }),
    }),
    ...(amount !== undefined && { amount: money(amount) }),
    ...(hasAmount && { currency: code ?? before?.currency ?? 'USD' }),
    period: named ?? before?.period ?? 'month',
  };
}

function money(text: string): number {
  const amount = /^\d{1,7}(\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  if (amount > 0) return amount;
  throw usageError(`--budget-amount ${text}: use an amount such as 20 or 7.50`);
}

/** Converts a number of days (`30d`) or an ISO timestamp to the time when the key expires. */
function expiry(text: string): string {
  const [, days] = /^(\d{1,4})d$/.exec(text) ?? [];
  if (days !== undefined) {
    const count = wholeNumber('--expires', days, { min: 1, max: MAX_EXPIRY_DAYS });
    return new Date(Date.now() + count * DAY_MS).toISOString();
  }
  const time = /^\d{4}-\d\d-\d\d(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw usageError(
      `--expires ${text}: use days, for example 30d, or a time, for example 2027-01-31T00:00:00Z`,
    );
  }
  return new Date(time).toISOString();
}

function seconds(flag: string, text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const factor = UNITS[unit ?? ''];
  if (count === undefined || factor === undefined) {
    throw usageError(`${flag} ${text}: use a time such as 90s, 15m, 24h or 7d`);
  }
  return Number(count) * factor;
}
