/**
 * The documentation as a site: `npm run docs` builds it into dist/site, without network. The pages are the files in docs/
 * and a few of the repository's root, so that the same text serves readers of the repository and of the site.
 */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitepress';

const root = path.join(import.meta.dirname, '../..');

/** Files of the repository that pages link to by address. They are copied to the site as they are. */
const FILES = [
  'examples/live-client/client.js',
  'docs/development-tool',
  'docs/images/phone-approves.png',
];

export default defineConfig({
  title: 'Parley',
  description: 'Agents talking to agents, and people joining in, over the A2A protocol',
  srcDir: root,
  outDir: path.join(root, 'dist/site'),
  cacheDir: path.join(root, 'node_modules/.cache/site'),
  srcExclude: [
    'README.md',
    'CONTRIBUTING.md',
    'api/**',
    'bench/**',
    'dist/**',
    '.dist-*/**',
    'docs/site/**',
    'docs/images/**',
    'fuzz/**',
    'packages/**',
    'registry/**',
    'src/**',
    'test/**',
    'examples/*/**',
  ],
  // On the site docs/ and the root are one folder.
  rewrites: (file) => file.replace(/^docs\//, ''),
  markdown: {
    config(md) {
      md.core.ruler.push('links-to-the-root', ({ env, tokens }) => {
        const { relativePath } = env as { relativePath: string };
        if (relativePath.includes('/')) return;
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const link = token.attrGet('href');
          if (link?.startsWith('../') === true) {
            token.attrSet(
              'href',
              link.replace(/^\.\.\//, './').replace('./README.md', './index.md'),
            );
          }
        }
      });
    },
  },
  // The address of the site is not known here. The pages work in any folder of a server.
  base: process.env['PARLEY_SITE_BASE'] ?? '/',
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: [/^http:\/\/localhost/],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Get started', link: '/get-started' },
      { text: 'Library', link: '/library' },
      { text: 'Gateway', link: '/gateway' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
    ],
    sidebar: [
      { text: 'Get started in five minutes', link: '/get-started' },
      { text: 'Installation', link: '/install' },
      {
        text: 'Terminal agent',
        items: [
          { text: 'The terminal', link: '/terminal' },
          { text: 'Models', link: '/models' },
          { text: 'Permissions and the sandbox', link: '/approvals' },
          { text: 'MCP servers', link: '/mcp' },
          { text: 'Editors', link: '/editors' },
        ],
      },
      {
        text: 'Live session and phone',
        items: [
          { text: 'The page', link: '/console' },
          { text: 'Other devices', link: '/remote' },
          { text: 'The live session', link: '/live-session' },
        ],
      },
      {
        text: 'Library',
        items: [
          { text: 'Guide', link: '/library' },
          { text: 'Agents, tools and models', link: '/agents' },
          { text: 'Webhooks', link: '/webhooks' },
          { text: 'Signatures', link: '/signing' },
          { text: 'Examples', link: '/examples/README' },
          { text: 'API reference', link: '/reference/README' },
        ],
      },
      {
        text: 'Gateway',
        items: [
          { text: "Operator's guide", link: '/gateway' },
          { text: "Vendors' clients", link: '/gateway-clients' },
        ],
      },
      {
        text: 'Cluster and operation',
        items: [
          { text: 'Several nodes', link: '/scaling' },
          { text: 'Limits, retention, metrics', link: '/operations' },
          { text: 'Operating systems', link: '/platforms' },
          { text: 'Compatibility and releases', link: '/compatibility' },
        ],
      },
      {
        text: 'Interop',
        items: [
          { text: 'Programs that work with Parley', link: '/interop' },
          { text: 'The coding agent on the wire', link: '/development-tool' },
        ],
      },
      {
        text: 'Security',
        items: [
          { text: 'Threat model', link: '/threat-model' },
          { text: 'Outgoing requests', link: '/network' },
          { text: 'Report a vulnerability', link: '/SECURITY' },
        ],
      },
      { text: 'Troubleshooting', link: '/troubleshooting' },
      {
        text: 'Project',
        collapsed: true,
        items: [
          { text: 'Changes', link: '/CHANGELOG' },
          { text: 'Architecture', link: '/ARCHITECTURE' },
          { text: 'Glossary', link: '/GLOSSARY' },
          { text: 'Decisions', link: '/decisions/README' },
        ],
      },
    ],
  },
  buildEnd({ outDir }) {
    for (const file of FILES) {
      const target = path.join(outDir, file.replace(/^docs\//, ''));
      cpSync(path.join(root, file), target, { recursive: true });
    }
  },
});
