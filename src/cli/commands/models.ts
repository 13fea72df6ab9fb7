/** `parley models`: lists the models that can be reached. */
import { offered, reachableServers } from '../../agent/internal/index.ts';
import { allServers } from '../../agent/providers/index.ts';
import { CODER_VARIABLES } from '../coder/flags.ts';
import { modelInUse } from '../coder/model-choice.ts';
import { defineCommand } from '../program/command.ts';
import { settingsFor } from '../program/settings.ts';
import { usageError } from '../program/exit.ts';
import { toggle } from '../program/flags.ts';
import { columns, bold, note, say, sayJson, word } from '../program/terminal.ts';

const TIMEOUT_MS = 5000;

export default defineCommand({
  operands: ['[PROVIDER]'],
  about:
    'Lists the models that can be reached: those of the vendors whose key is set, those of the providers in settings.json, and those of Ollama, LM Studio and vLLM. These three are searched on this machine, unless a variable below names another address. With PROVIDER, lists only the models of this provider.',
  flags: { json: toggle('Print one JSON object.') },
  variables: {
    GEMINI_API_KEY: CODER_VARIABLES.GEMINI_API_KEY,
    OLLAMA_HOST:
      'The address of Ollama; 127.0.0.1:11434 by default. LMSTUDIO_BASE_URL and VLLM_BASE_URL are for the other servers.',
  },
  examples: ['parley models', 'parley models ollama', 'parley models --json | jq .models[].name'],

  async run({ operands: [only], values, environment }) {
    const { settings } = await settingsFor(process.cwd(), environment);
    const all = allServers(environment, settings.providers);
    const wanted = all.filter(({ prefix }) => only === undefined || prefix === only);
    if (wanted.length === 0) {
      const known = all.map(({ prefix }) => prefix).join(', ');
      throw usageError(`there is no provider ${JSON.stringify(only)}: use one of ${known}`);
    }
    const servers = await reachableServers(wanted, { timeoutMs: TIMEOUT_MS });
    const { name: current } = modelInUse(undefined, settings, environment);
    const models = servers.flatMap(({ prefix, models }) =>
      offered(models).map(({ id, contextWindow, isLoaded, hasTools }) => ({
        name: `${prefix}:${id}`,
        provider: prefix,
        contextWindow,
        loaded: isLoaded,
        tools: hasTools,
      })),
    );
    if (values.json) {
      const providers = servers.map(({ prefix, baseURL, problem, models: all }) => ({
        name: prefix,
        baseUrl: baseURL === '' ? undefined : baseURL,
        models: all.length,
        problem,
      }));
      return sayJson({ default: current, models, providers });
    }
    const rows = models.map(({ name, contextWindow, loaded, tools }) => {
      const about = [
        ...(name === current ? ['default'] : []),
        ...(loaded === true ? ['loaded'] : []),
        ...(tools === false ? ['cannot call tools'] : []),
      ];
      return [word(name), sizeText(contextWindow), about.join(', ')];
    });
    if (rows.length > 0) {
      const head = [bold('MODEL'), bold('CONTEXT'), ''];
      for (const line of columns([head, ...rows])) say(line);
    } else {
      note(
        only === undefined
          ? 'No model can be reached. Set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a model on this machine, for example: ollama run qwen3'
          : `No model of ${word(only)} can be reached.`,
      );
    }
    for (const { prefix, problem } of servers) {
      if (problem !== undefined) note(`${prefix}: ${word(problem)}`);
    }
    const [first] = rows;
    if (only === undefined && first) note(`To use a model: parley --model ${first[0]}`);
  },
});

function sizeText(tokens: number | undefined): string {
  if (tokens === undefined) return '–';
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}k` : `${tokens}`;
}
