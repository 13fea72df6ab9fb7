/** The vendors that the tests of the vendors' endpoints put behind a gateway. */
import { startGateway, type GatewayStart, type RunningGateway } from '../support/gateway.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';

export const VENDORS = {
  anthropic: { wire: anthropic, path: '' },
  google: { wire: google, path: '/v1beta' },
  openai: { wire: openai, path: '/v1' },
  'openai-compatible': { wire: openaiCompatible, path: '/v1' },
} as const;
export type VendorType = keyof typeof VENDORS;

export interface ServedVendor extends AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly vendor: FakeVendor;
}

/** A gateway whose model `house` leads to a vendor of the type. */
export async function serveVendor(
  type: VendorType,
  replies: readonly Reply[],
  start: Pick<GatewayStart, 'logger'> = {},
): Promise<ServedVendor> {
  const vendor = await fakeVendor(replies);
  const { wire, path } = VENDORS[type];
  const baseUrl = vendor.url + path;
  const gateway = await startGateway({
    ...start,
    config: {
      providers: { p: { type, baseUrl, apiKey: 'vendor-key', attempts: 1, models: [] } },
      models: { house: { provider: 'p', model: wire.model.slice(type.length + 1) } },
    },
  });
  return {
    gateway,
    vendor,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}
