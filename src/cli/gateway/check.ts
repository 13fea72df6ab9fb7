/** `parley gateway --check`: prints a summary of a configuration. Uses neither the network nor a store. */
import type { GatewayConfig, LoadedConfig } from '../../gateway/index.ts';
import { columns, bold, dim, green, say, sayJson, yellow } from '../program/terminal.ts';

/** Maximum number of names in a line of the summary. */
const MAX_NAMES = 20;

export function sayChecked(file: string, loaded: LoadedConfig, json: boolean): void {
  const { config, variables } = loaded;
  const warnings = [...loaded.warnings, ...loaded.surprises];
  const names = (part: object | undefined): string[] => Object.keys(part ?? {});
  if (json) {
    const { providers, models, agents } = config;
    const found = { providers: names(providers), models: names(models), agents: names(agents) };
    sayJson({ ok: true, file, ...found, variables, warnings });
    return;
  }
  const rows = summary(config).filter(([, values]) => values.length > 0);
  if (variables.length > 0) rows.push(['variables', variables]);
  say(
    `${green('ok')} ${bold(file)}${rows.length === 0 ? ': it has no providers, models or agents' : ''}`,
  );
  const lines = rows.map(([name, values]) => {
    const more = values.length - MAX_NAMES;
    const shown = [...values.slice(0, MAX_NAMES), ...(more > 0 ? [`and ${more} more`] : [])];
    return [dim(name), shown.join(', ')];
  });
  for (const line of columns(lines)) say(`   ${line}`);
  for (const warning of warnings) say(`${yellow('!')}  ${warning}`);
}

function summary(config: GatewayConfig): [name: string, values: readonly string[]][] {
  const { providers = {}, models = {}, agents = {}, defaultModel, keys, tasks, telemetry } = config;
  return [
    ['providers', Object.entries(providers).map(([name, { type }]) => `${name} (${type})`)],
    [
      'models',
      Object.entries(models).map(([name, { provider, routes = [] }]) => {
        const places = provider === undefined ? routes.map((route) => route.provider) : [provider];
        return `${name} → ${places.join(' | ')}`;
      }),
    ],
    ['default model', defaultModel === undefined ? [] : [defaultModel]],
    ['agents', Object.entries(agents).map(([name, { url }]) => `${name} at ${url}`)],
    ['issuer', keys?.oidc === undefined ? [] : [keys.oidc.issuer]],
    ['task lifetime', tasks?.ttlSeconds === undefined ? [] : [`${tasks.ttlSeconds} s`]],
    ['traces to', telemetry?.endpoint === undefined ? [] : [telemetry.endpoint]],
  ];
}
