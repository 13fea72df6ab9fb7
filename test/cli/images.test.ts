// Images whose paths a person types or drops into a prompt, with a model server on loopback in the vendor's format.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type Asked } from '../support/vendors/server.ts';
import { folder, parley } from './support.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = path.join(folder, 'my shot.png');
writeFileSync(image, Buffer.from(PNG, 'base64'));
const workspace = path.join(folder, 'work');
mkdirSync(workspace);

const bodyOf = (asked: Asked | undefined): string => JSON.stringify(asked?.body);

async function ask(url: string) {
  const env = { OPENAI_COMPATIBLE_BASE_URL: url };
  const args = ['-p', `what is '${image}'?`, '--model', openaiCompatible.model];
  return parley(args, { cwd: workspace, env });
}

test('a model server gets the image that the prompt names, from outside the workspace', async () => {
  await using vendor = await fakeVendor([{ events: openaiCompatible.answer }]);
  const { code, out, err } = await ask(vendor.url);
  assert.deepEqual([code, out], [0, 'It is sunny.\n'], err);
  assert.ok(bodyOf(vendor.asked[0]).includes(`"url":"data:image/png;base64,${PNG}"`));
});

test('an image whose path is only in standard input is not read', async () => {
  await using vendor = await fakeVendor([
    { events: openaiCompatible.answer },
    { events: openaiCompatible.answer },
  ]);
  const env = { OPENAI_COMPATIBLE_BASE_URL: vendor.url };
  for (const [index, prompt] of ['what is this?', '-'].entries()) {
    const args = ['-p', prompt, '--model', openaiCompatible.model];
    const { code, err } = await parley(args, { cwd: workspace, env, input: `see '${image}'` });
    assert.equal(code, 0, err);
    assert.match(bodyOf(vendor.asked[index]), /my shot\.png/);
    assert.doesNotMatch(bodyOf(vendor.asked[index]), /base64/);
  }
});

for (const { server, status, message } of [
  { server: 'llama.cpp', status: 500, message: 'image input is not supported - hint: mmproj' },
  { server: 'LM Studio', status: 400, message: 'Model does not support images.' },
]) {
  test(`a model of ${server} without eyes gets a note instead of the image, and the person a message`, async () => {
    await using vendor = await fakeVendor([
      { status, body: openaiCompatible.error(status, message) },
      { events: openaiCompatible.answer },
    ]);
    const { code, out, err } = await ask(vendor.url);
    assert.deepEqual([code, out], [0, 'It is sunny.\n'], err);
    assert.match(
      err,
      /openai-compatible:\S+ does not accept an image or file of this conversation.* with --model\./,
    );
    assert.match(bodyOf(vendor.asked[1]), /my shot\.png: image\/png, .*, not shown/);
    assert.doesNotMatch(bodyOf(vendor.asked[1]), /base64/);
  });
}

test('the offline model says that it cannot see', async () => {
  const args = ['-p', `look at '${image}'`, '--model', 'offline'];
  const { out } = await parley(args, { cwd: workspace });
  assert.match(out, /^I cannot see images\. Choose a model that can with \/model\./);
});
