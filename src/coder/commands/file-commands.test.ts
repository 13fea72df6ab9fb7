import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { toSlashCommand } from './command.ts';
import { loadFileCommands, toCommands } from './file-commands.ts';

async function folders(t: TestContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-commands-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  const at = (name: string) => path.join(root, name);
  const put = async (name: string, text: string) => {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await writeFile(at(name), text);
  };
  await mkdir(at('workspace/.parley/commands'), { recursive: true });
  const mine = (name: string, text: string) => put(`config/commands/${name}`, text);
  const theirs = (name: string, text: string) => put(`workspace/.parley/commands/${name}`, text);
  const load = (trusted = true) =>
    loadFileCommands({ configFolder: at('config'), workspace: at('workspace'), trusted });
  const one = async (text: string) => {
    await mine('x.md', text);
    const { commands, problems } = await load();
    assert.deepEqual(problems, []);
    return commands[0]!;
  };
  return { at, put, mine, theirs, load, one };
}

test('a file is a command, a folder its sub-commands', async (t) => {
  const { mine, theirs, load } = await folders(t);
  await mine('review.md', '# Review the change');
  await theirs('git/commit.md', '---\ndescription: Commit\narguments: message\n---\nCommit');
  await theirs('git/log/short.md', 'Short log');
  await theirs('git.md', 'All about git');
  await theirs('notes.txt', 'no command');
  const { commands, problems } = await load();
  assert.deepEqual(problems, []);
  assert.deepEqual(
    commands.map(({ path, source }) => [path.join(' '), source]),
    [
      ['git', 'workspace'],
      ['git commit', 'workspace'],
      ['git log short', 'workspace'],
      ['review', 'user'],
    ],
  );
  const leaf = (name: string, description: string) => ({
    name,
    description,
    arguments: [],
    sub_commands: [],
  });
  assert.deepEqual(toCommands(commands).map(toSlashCommand), [
    {
      ...leaf('git', 'All about git'),
      sub_commands: [
        {
          ...leaf('commit', 'Commit'),
          arguments: [{ name: 'message', description: '', is_required: true }],
        },
        { ...leaf('log', ''), sub_commands: [leaf('short', 'Short log')] },
      ],
    },
    leaf('review', 'Review the change'),
  ]);
});

test("a workspace's commands count only when it is trusted, and then before the user's", async (t) => {
  const { mine, theirs, load } = await folders(t);
  await mine('x.md', 'mine');
  await theirs('x.md', 'theirs');
  const prompts = async (trusted: boolean) =>
    (await load(trusted)).commands.map((command) => command.prompt('').text);
  assert.deepEqual(await prompts(false), ['mine']);
  assert.deepEqual(await prompts(true), ['theirs']);
});

test('what is typed takes the place of the placeholders, as it is', async (t) => {
  const { one } = await folders(t);
  const both = await one('Fix $ARGUMENTS now, {{args}} and {{ args }}. $ARGUMENTSX');
  assert.equal(both.prompt(' #7 ').text, 'Fix #7 now, #7 and #7. $ARGUMENTSX');
  assert.equal(
    both.prompt('$& {{args}} $ARGUMENTS').text,
    'Fix $& {{args}} $ARGUMENTS now, $& {{args}} $ARGUMENTS and $& {{args}} $ARGUMENTS. $ARGUMENTSX',
  );
  const none = await one('Fix it');
  assert.equal(none.prompt('').text, 'Fix it');
  assert.equal(none.prompt('fast').text, 'Fix it\n\nfast');
});

test('the head says what the command is for and what it takes', async (t) => {
  const { one } = await folders(t);
  const expected = [
    { name: 'issue', description: '', is_required: true },
    { name: 'note', description: '', is_required: false },
  ];
  for (const list of ['issue, [note]', '[issue, [note]]', '"issue", "[note]"']) {
    const command = await one(`---\r\ndescription: "Fix: it"\r\narguments: ${list}\r\n---\r\nBody`);
    assert.deepEqual([command.description, command.arguments], ['Fix: it', expected], list);
    assert.equal(command.prompt('').text, 'Body');
  }
  const block = await one(
    '---\narguments:\n  - issue: its number: 1\n  - [note]\nother: x\n  - y\n---\nBody',
  );
  assert.deepEqual(block.arguments, [
    { ...expected[0], description: 'its number: 1' },
    expected[1],
  ]);
  assert.equal(block.description, 'Body');
  const rule = await one('---\nnever closed');
  assert.equal(rule.prompt('').text, '---\nnever closed');
});

test('what is no command is said, and stops nobody', async (t) => {
  const { at, put, mine, theirs, load } = await folders(t);
  await put('secret', 'key');
  await symlink(at('secret'), at('workspace/.parley/commands/leak.md'));
  await theirs('bad name.md', 'x');
  await mine('empty.md', '---\ndescription: x\n---\n');
  await mine('large.md', 'x'.repeat(70_000));
  await mkdir(at('config/commands/folder.md'));
  await mine('a/b/c/d/e/deep.md', 'too deep');
  await mine('good.md', 'good');
  const { commands, problems } = await load();
  assert.deepEqual(
    commands.map(({ path }) => path),
    [['good']],
  );
  assert.deepEqual(problems.map((line) => /(\w+|bad name)\.md/.exec(line)?.[1] ?? '').toSorted(), [
    'bad name',
    'empty',
    'large',
    'leak',
  ]);
});

test('a file is ignored if its arguments could run commands', async (t) => {
  const { mine, load } = await folders(t);
  await mine('find.md', 'Find "{{args}}" in !{git log --grep="{{args}}"}');
  await mine('good.md', 'Find "{{args}}" in !{git log --grep={{args}}}');
  const { commands, problems } = await load();
  assert.deepEqual(
    commands.map(({ path }) => path),
    [['good']],
  );
  assert.equal(problems.length, 1);
  assert.match(
    problems.join(),
    /find\.md has \{\{args\}\} in !\{git log .*: write it outside of quotes/,
  );
});

test("the user's own folder may be full of links", async (t) => {
  const { at, put, load } = await folders(t);
  await put('dotfiles/team/x.md', 'linked');
  await mkdir(at('config'));
  await symlink(at('dotfiles'), at('config/commands'));
  assert.deepEqual(
    (await load()).commands.map(({ path }) => path),
    [['team', 'x']],
  );
});

test('there are only so many', async (t) => {
  const { mine, load } = await folders(t);
  for (let index = 0; index < 203; index += 1) await mine(`c${index}.md`, 'x');
  const { commands, problems } = await load();
  assert.equal(commands.length, 200);
  assert.match(problems.join(), /more than 200/);
});
