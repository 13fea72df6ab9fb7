/** Programs that use a model through the gateway. Each has an empty home, and reaches nothing but the gateway. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, tryModels } from './gateway-models.ts';
import { folderOf, programs, type Program } from './programs.ts';

const PROMPT = 'What does note.txt say about the weather?';
const PLATFORM = `${process.platform}-${process.arch}`;

/** Returns the path of a file in a package of the program. A native program is in a package for each platform. */
function fileOf(program: Program, ...path: readonly string[]): string {
  return join(folderOf(program), 'node_modules', ...path);
}

tryModels({
  name: 'Claude Code 2.1.325',
  keepsThoughts: true,
  call: ({ file }) => ({ name: 'Read', args: { file_path: file } }),
  run: (place, t) =>
    runCommand(
      place,
      t,
      fileOf(programs.claudeCode, `@anthropic-ai/claude-code-${PLATFORM}`, 'claude'),
      ['--print', PROMPT, '--model', place.model, '--allowedTools', 'Read'],
      {
        ANTHROPIC_BASE_URL: place.url,
        ANTHROPIC_API_KEY: place.key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    ),
});

tryModels({
  name: 'Codex 0.166.0',
  keepsThoughts: true,
  call: ({ file }) => ({ name: 'exec_command', args: { cmd: `cat ${file}` } }),
  run: (place, t) => {
    const folder = join(place.home, '.codex');
    mkdirSync(folder);
    const config = [
      `model = "${place.model}"`,
      'model_provider = "parley"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.parley]',
      'name = "Parley"',
      `base_url = "${place.url}/v1"`,
      'env_key = "PARLEY_KEY"',
      'wire_api = "responses"',
      'request_max_retries = 0',
      'stream_max_retries = 0',
    ];
    writeFileSync(join(folder, 'config.toml'), config.join('\n'));
    return runCommand(
      place,
      t,
      process.execPath,
      [
        fileOf(programs.codex, '@openai/codex/bin/codex.js'),
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        PROMPT,
      ],
      { PARLEY_KEY: place.key },
    );
  },
});

tryModels({
  name: 'qwen-code 0.24.4',
  call: ({ file }) => ({ name: 'read_file', args: { file_path: file } }),
  run: (place, t) => {
    const folder = join(place.home, '.qwen');
    mkdirSync(folder);
    const settings = {
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false },
    };
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
    return runCommand(
      place,
      t,
      process.execPath,
      [
        fileOf(programs.qwenCode, '@qwen-code/qwen-code/cli-entry.js'),
        '--auth-type=openai',
        '--approval-mode=yolo',
        '--prompt',
        PROMPT,
      ],
      { OPENAI_BASE_URL: `${place.url}/v1`, OPENAI_API_KEY: place.key, OPENAI_MODEL: place.model },
    );
  },
});

tryModels({
  name: 'opencode 1.18.33',
  call: ({ file }) => ({ name: 'read', args: { filePath: file } }),
  run: (place, t) => {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${place.url}/v1`, apiKey: place.key },
      models: { [place.model]: {} },
    };
    const config = { autoupdate: false, share: 'disabled', provider: { parley: provider } };
    return runCommand(
      place,
      t,
      fileOf(programs.opencode, `opencode-${PLATFORM}`, 'bin', 'opencode'),
      ['run', '--model', `parley/${place.model}`, PROMPT],
      {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      },
    );
  },
});

tryModels({
  name: '@google/gemini-cli 0.61.0',
  keepsThoughts: true,
  // With the name of a model that it knows, it asks for thoughts.
  model: 'gemini-2.5-flash',
  call: ({ file }) => ({ name: 'read_file', args: { file_path: file } }),
  run: (place, t) => {
    const folder = join(place.home, '.gemini');
    mkdirSync(folder);
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true },
    };
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
    return runCommand(
      place,
      t,
      process.execPath,
      [
        fileOf(programs.geminiCli, '@google/gemini-cli/bundle/gemini.js'),
        '--approval-mode=yolo',
        `--model=${place.model}`,
        '--prompt',
        PROMPT,
      ],
      {
        GOOGLE_GEMINI_BASE_URL: place.url,
        GEMINI_API_KEY: place.key,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      },
    );
  },
});
