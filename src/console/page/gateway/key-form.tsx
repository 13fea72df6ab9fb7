/** The form for a new key, and for the settings of an existing key. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { ChoiceField } from '../parts/lists.tsx';
import type { Server } from '../server/server.ts';
import { BudgetPeriod, NEW_KEY_SCOPES, type ShownKey } from './api.ts';
import { PageButton, Form, TextField } from '../parts/controls.tsx';

const COUNT = { type: 'number', min: 1 } as const;
/** The smallest amount is a billionth of the currency, because the server counts billionths and refuses 0. */
const MONEY = { type: 'number', min: 1e-9, step: 'any' } as const;

/** The settings in the form. A limit or a date that is not set is null. */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
  readonly rateLimit: Readonly<Record<string, number>> | null;
  readonly budget: Readonly<Record<string, number | string>> | null;
}

interface Props {
  readonly server: Server;
  /** The key that is being changed, or undefined for a new key. */
  readonly known: ShownKey | undefined;
  readonly busy: boolean;
  readonly onSave: (settings: KeySettings) => void;
  readonly onClose: () => void;
}

export function KeyForm({ server, known, busy, onSave, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  // Moves the focus to the form, because the form is above the list and the key may be far down in the list.
  useLayoutEffect(() => box.current?.querySelector('input')?.focus(), []);
  const name = useSignal(known?.name ?? '');
  const scopes = useSignal<readonly string[]>(
    known?.scopes ?? NEW_KEY_SCOPES.filter((each) => server.may(each)),
  );
  const expires = useSignal(known?.expiresAt?.slice(0, 10) ?? '');
  const rate = useSignal(textOf(known?.rateLimit?.requestsPerMinute));
  const burst = useSignal(textOf(known?.rateLimit?.burst));
  const tokens = useSignal(textOf(known?.budget?.tokens));
  const amount = useSignal(textOf(known?.budget?.amount));
  const currency = useSignal(known?.budget?.currency ?? 'USD');
  const period = useSignal<string>(known?.budget?.period ?? 'month');
  // The person can give only the scopes of their own key. A key that already has all scopes (`*`) may keep them.
  const given = server.caller?.scopes ?? [];
  const offered = known?.scopes.includes('*') ? ['*', ...given] : given;

  const settings = (): KeySettings => ({
    name: name.value.trim(),
    scopes: scopes.value,
    expiresAt: expires.value === '' ? null : expiryOf(expires.value, known?.expiresAt),
    rateLimit:
      rate.value === ''
        ? null
        : {
            requestsPerMinute: Number(rate.value),
            ...(burst.value !== '' && { burst: Number(burst.value) }),
          },
    budget:
      tokens.value === '' && amount.value === ''
        ? null
        : {
            ...(tokens.value !== '' && { tokens: Number(tokens.value) }),
            ...(amount.value !== '' && { amount: Number(amount.value), currency: currency.value }),
            period: period.value,
          },
  });
  return (
    <Form
      class="panel-form"
      aria-label={known ? `Settings of ${known.name}` : 'New key'}
      onSubmit={() => {
        if (!busy) onSave(settings());
      }}
    >
      <div class="filters" ref={box}>
        <TextField type="text" label="Name" text={name} />
      </div>
      <fieldset class="scopes">
        <legend>Scopes</legend>
        {offered.map((scope) => (
          <label key={scope}>
            <input
              type="checkbox"
              checked={scopes.value.includes(scope)}
              onChange={({ currentTarget }) => {
                const others = scopes.value.filter((each) => each !== scope);
                scopes.value = currentTarget.checked ? [...others, scope] : others;
              }}
            />
            {scope === '*' ? '* (all)' : scope}
          </label>
        ))}
      </fieldset>
      <div class="filters">
        <TextField type="date" label="Expires on" text={expires} />
        <TextField label="Requests per minute" text={rate} placeholder="no limit" {...COUNT} />
        {rate.value === '' ? null : (
          <TextField label="Requests in a burst" text={burst} placeholder={rate.value} {...COUNT} />
        )}
        <TextField label="Budget in tokens" text={tokens} placeholder="none" {...COUNT} />
        <TextField label="Budget in money" text={amount} placeholder="none" {...MONEY} />
        {amount.value === '' ? null : <TextField type="text" label="Currency" text={currency} />}
        {tokens.value === '' && amount.value === '' ? null : (
          <ChoiceField
            label="Period of the budget"
            value={period.value}
            options={BudgetPeriod.options}
            onChange={(value) => (period.value = value)}
          />
        )}
      </div>
      <div class="actions">
        <button
          type="submit"
          class="primary"
          disabled={busy || name.value.trim() === '' || scopes.value.length === 0}
        >
          {known ? 'Save' : 'Create the key'}
        </button>
        <PageButton onClick={onClose}>Back</PageButton>
      </div>
    </Form>
  );
}

function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}

/** Returns the end of the day in UTC. If the day was not changed, returns the exact time at which the key expires. */
function expiryOf(day: string, known: string | undefined): string {
  return known?.startsWith(day) === true ? known : `${day}T23:59:59Z`;
}
