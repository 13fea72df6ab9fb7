/** Opens the coding agent from flags, settings and environment variables. */
import type { AcpAuthentication } from '../../acp/index.ts';
import { reasonOf } from '../../base/index.ts';
import {
  memorySessions,
  ModelError,
  type Model,
  type ModelRetryOptions,
  type SessionStore,
} from '../../agent/index.ts';
import { resolveModel, usableModels } from '../../agent/internal/index.ts';
import { keyVariablesOf } from '../../agent/providers/index.ts';
import {
  createCoder,
  type CoderOptions,
  hideVariables,
  MODE_KEY,
  APP,
  MODEL_KEY,
  type ApprovalMode,
  logNotices,
  type Notify,
  openSandbox,
  notices,
  SandboxUnavailable,
} from '../../coder/index.ts';
import { type Settings, SettingsError } from '../../coder/settings/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { CODER_FLAGS } from './flags.ts';
import { localOffer, modelInUse } from './model-choice.ts';
import { loginPlace } from './login-place.ts';
import { hideOwnSecrets } from './own-secrets.ts';
import { configFolder } from '../program/folders.ts';
import { usageError } from '../program/exit.ts';
import type { Environment, Values } from '../program/flags.ts';
import { VERSION } from '../program/product.ts';
import { parseRetention, sessionsFile, type StoreLocation } from '../program/store-location.ts';
import { ownSettings, settingsFor } from '../program/settings.ts';
import { note, quoted } from '../program/terminal.ts';

const DAY_MS = 86_400_000;
/**
 * The person gets a notice if the context window has fewer tokens than this. Such a window is hardly enough for the
 * instructions and the tools of the agent.
 */
const FEW_TOKENS = 16_000;
const NO_KEY =
  'There is no API key, so the offline model answers. It understands only a few simple requests. Set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY to use another model, or choose a model with --model: parley models lists those that can be reached.';

export interface CoderFlags extends Omit<Values<typeof CODER_FLAGS>, 'workspace'> {
  readonly retention?: string | undefined;
  readonly 'allow-client-mcp'?: boolean;
  readonly 'allow-auto-execute'?: boolean;
  /** Private networks that fetch_url and MCP servers may connect to. */
  readonly 'allow-network'?: readonly string[];
}

export interface CoderSetup {
  readonly values: CoderFlags;
  readonly environment: Environment;
  /** The real paths of the workspaces. */
  readonly roots: readonly string[];
  readonly sessions: SessionStore;
  /** Whether the mode and the model in the flags override those of a resumed session. */
  readonly flagsOverride?: boolean;
  /** Whether the agent serves other people. If so, --approval plan means that no session may change its mode. */
  readonly serves?: boolean;
  /**
   * Whether others may join the terminal's session. If so, --approval plan means that only the terminal may change the
   * mode.
   */
  readonly shared?: boolean;
  /**
   * Whether a person at a terminal runs the session. This person may choose every mode. Other clients may choose yolo
   * only if the session starts in yolo. If no model is named and there is no API key, the session uses a model on this
   * machine if one is available, except in the mode yolo.
   */
  readonly terminal?: boolean | undefined;
  /** Whether the agent serves a live session. If so, only tasks of live sessions are resumed after a crash. */
  readonly live?: boolean;
  readonly logger: Logger;
  /**
   * Notifies the person who runs the program about the model and the MCP servers. By default, notices are written to
   * the log.
   */
  readonly notify?: Notify | undefined;
}

export type OpenedCoder = Awaited<ReturnType<typeof openCoder>>;

/** Opens the sessions that belong to this task store. Several processes may open them at the same time. */
export async function openSessions(place: StoreLocation): Promise<SessionStore> {
  if (place.kind === 'memory') return memorySessions();
  const { StorageError } = await import('../../agent/index.ts');
  try {
    if (place.kind === 'postgres') {
      const { postgresSessions } = await import('../../agent/postgres/index.ts');
      return await postgresSessions(place.url);
    }
    const { sqliteSessions } = await import('../../agent/sqlite/index.ts');
    return sqliteSessions(sessionsFile(place.file), { durability: place.durability });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const advice = place.kind === 'postgres' ? '' : ', or use --store memory';
    throw usageError(`${error.message}${advice}`, { cause: error });
  }
}

/** Opens the agent. Throws a one-line error if the model, the settings or the sandbox cannot be used. */
export async function openCoder(setup: CoderSetup) {
  const { values, environment, roots, sessions, logger } = setup;
  const { approval: mode } = values;
  try {
    const config = configFolder(environment);
    const notes: string[] = [];
    const settings = await settingsOf(environment, roots, notes);
    const { providers } = settings;
    hideVariables(keyVariablesOf(providers));
    hideOwnSecrets();
    const { notify = logNotices(logger) } = setup;
    const retry: ModelRetryOptions = {
      onRetry: (error, _attempt, delayMs) => notify(notices.retry(error, delayMs)),
    };
    const refused = new Set<string>();
    const onFilesRefused = (name: string): void => {
      if (!refused.has(name)) notify(notices.filesRefused(name, setup.live === true));
      refused.add(name);
    };
    const onContextWindow = (name: string, tokens: number): void => {
      if (tokens < FEW_TOKENS) notify(notices.smallContextWindow(name, tokens));
    };
    const resolve = (name: string): Model =>
      resolveModel(name, {
        env: environment,
        retry,
        onContextWindow,
        onFilesRefused,
        ...(providers && { providers }),
      });
    const wanted = modelInUse(values.model, settings, environment);
    let { name } = wanted;
    if (!wanted.isNamed && name === 'offline') {
      const offersLocal =
        setup.terminal === true && mode !== 'yolo' && settings.approval !== 'yolo';
      const found = offersLocal ? await localOffer(environment, providers) : undefined;
      notes.push(found?.note ?? NO_KEY);
      name = found?.model ?? name;
    }
    const model = resolve(name);
    model.check?.();
    const sandbox = values.sandbox || settings.sandbox === true;
    if (sandbox) for (const root of roots) await openSandbox(root);
    const coder = await createCoder({
      roots,
      model,
      models: usableModels(environment, providers),
      resolve,
      notify,
      sessions,
      logger,
      configFolder: config,
      ...loginPlace(environment),
      profile: { version: VERSION },
      ...(mode !== undefined && { mode }),
      ...(setup.serves === true && mode === 'plan' && { loosest: 'plan' }),
      ...terminalModes(setup, mode, settings),
      ...(setup.live === true && { onlyLive: true }),
      ...(values.sandbox && { sandbox: true }),
      ...(setup.flagsOverride === true && {
        turnState: {
          ...(mode !== undefined && { [MODE_KEY]: null }),
          ...(values.model !== undefined && { [MODEL_KEY]: null }),
        },
      }),
      allowClientMcp: values['allow-client-mcp'] ?? false,
      allowAutoExecute: values['allow-auto-execute'] ?? false,
      web: { allowNetworks: values['allow-network'] ?? [] },
    });
    const { retentionDays = Infinity } = settings.limits ?? {};
    const { maxAgeMs = retentionDays * DAY_MS } = parseRetention(values.retention) ?? {};
    return {
      ...coder,
      model,
      /** The approval mode of sessions that have not set another mode. */
      mode: mode ?? settings.approval ?? 'ask',
      /** The rules of the settings. With several workspaces, only the user's rules. */
      rules: settings.policy ?? [],
      /** Notes for the user, one line each. */
      notes,
      /**
       * Removes the sessions that have not been used for the time in --retention. If --retention has no age,
       * `retentionDays` in the settings applies. If neither is set, removes nothing. If the removal fails, logs the
       * reason.
       */
      async sweep(): Promise<void> {
        if (maxAgeMs === Infinity) return;
        try {
          const removed = await sessions.prune?.(APP, Date.now() - maxAgeMs);
          if (removed) logger.info({ removed, days: maxAgeMs / DAY_MS }, 'removed old sessions');
        } catch (error) {
          logger.warn({ problem: reasonOf(error) }, 'failed to remove old sessions');
        }
      },
    };
  } catch (error) {
    if (
      error instanceof ModelError ||
      error instanceof SettingsError ||
      error instanceof SandboxUnavailable
    ) {
      throw usageError(error.message, { cause: error });
    }
    throw error;
  }
}

function terminalModes(
  { shared, terminal }: CoderSetup,
  mode: ApprovalMode | undefined,
  settings: Settings,
): Pick<CoderOptions, 'loosest' | 'terminalModes'> {
  const loosest = terminal === true && { loosest: 'yolo' as const };
  if (shared === true && mode === 'plan') return { ...loosest, terminalModes: 'all' };
  // If the session starts in yolo, every client that may approve calls may also choose yolo.
  const isYolo = (mode ?? settings.approval) === 'yolo';
  return loosest && !isYolo ? { ...loosest, terminalModes: 'yolo' } : {};
}

/** Loads the user's settings. Adds the workspace's settings if there is only one workspace and it is trusted. */
async function settingsOf(
  environment: Environment,
  roots: readonly string[],
  notes: string[],
): Promise<Settings> {
  let loaded: Settings = {};
  for (const workspace of roots) {
    const found = await settingsFor(workspace, environment, { isOnly: roots.length === 1 });
    const { settings, untrusted, ignored, trusted } = found;
    loaded = settings;
    notes.push(...ignored.filter((line) => !notes.includes(line)));
    if (untrusted !== undefined && !trusted) {
      notes.push(
        `${untrusted} is ignored, because the workspace is not trusted: read it, then run parley trust ${quoted(workspace)}`,
      );
    }
  }
  return loaded;
}

/** Returns the name of the model that sessions use in folders without settings of their own. */
export async function modelName(
  { model }: Pick<CoderFlags, 'model'>,
  environment: Environment,
): Promise<string> {
  // An error in the settings is reported when a session is opened.
  const settings = await ownSettings(environment).catch(() => ({}));
  return modelInUse(model, settings, environment).name;
}

/** Returns whether images may be sent to a model. The offline model reads only text. */
export function seesImages(model: string): boolean {
  return model !== 'offline';
}

export function tellNotes({ notes }: Pick<OpenedCoder, 'notes'>): void {
  for (const line of notes) note(line);
}

/**
 * Returns the authentication method of `parley acp`: API keys of models are read from environment variables. The
 * registry of ACP agents requires an authentication method. Editors rarely use it, because the offline model works
 * without a key. `model` is the model that sessions use.
 */
export function acpAuthentication(model: string, environment: Environment): AcpAuthentication {
  return {
    methods: [
      {
        id: 'environment',
        name: 'API key in the environment',
        description:
          'Set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY for parley acp, for example in the settings of the editor, and start the agent again. Without a key, the offline model answers, which understands only a few simple requests.',
      },
    ],
    authenticate() {
      try {
        resolveModel(model, { env: environment, checkKey: true });
        return undefined;
      } catch (error) {
        if (error instanceof ModelError) return error.message;
        throw error;
      }
    },
  };
}

/** Returns whether a session could not be opened because the key of its model is missing. */
export function isMissingKey(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof ModelError && error.cause.code === 'no-key'
  );
}
