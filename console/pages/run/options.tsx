/** What narrows the nodes, and how long it may take. */
import type { Signal } from '@preact/signals';
import { RUN_STATUSES, type FormField, type RunForm } from '../../run/form.ts';
import { TEXTS } from '../../texts.ts';
import { RUN } from '../../texts/run.ts';

const T = RUN.form;

interface OptionsProps {
  readonly form: Signal<RunForm>;
  readonly wrong: readonly FormField[];
}

/** Four fields, all of which may be left alone. */
export function Options({ form, wrong }: OptionsProps) {
  return (
    <div class="run-options">
      <Words name="labels" form={form} wrong={wrong} />
      <label>
        <span>{T.fields.status}</span>
        <select
          value={form.value.status ?? ''}
          onChange={({ currentTarget }) =>
            (form.value = {
              ...form.value,
              status: RUN_STATUSES.find((one) => one === currentTarget.value) ?? null,
            })
          }
        >
          <option value="">{T.anyStatus}</option>
          {RUN_STATUSES.map((status) => (
            <option key={status} value={status}>
              {TEXTS.statuses[status]}
            </option>
          ))}
        </select>
      </label>
      <Words name="timeout" form={form} wrong={wrong} />
      <Words name="expires" form={form} wrong={wrong} />
    </div>
  );
}

function Words({ name, form, wrong }: OptionsProps & { readonly name: 'labels' | 'timeout' | 'expires' }) {
  const isWrong = wrong.includes(name);
  return (
    <label>
      <span>{T.fields[name]}</span>
      <input
        id={`run-${name}`}
        value={form.value[name]}
        placeholder={T.hints[name]}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={isWrong}
        onInput={({ currentTarget }) => (form.value = { ...form.value, [name]: currentTarget.value })}
      />
      {isWrong && <span class="wrong">{T.wrong[name]}</span>}
    </label>
  );
}
