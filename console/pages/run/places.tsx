/** Which nodes are meant. What there is to choose from is offered; what is typed counts. */
import type { Signal } from '@preact/signals';
import type { Live } from '../../live.ts';
import { usePolled } from '../../poll.ts';
import type { Earlier } from '../../run/earlier.ts';
import { namesIn, PLACES, type FormField, type PlaceKind, type RunForm } from '../../run/form.ts';
import { RUN } from '../../texts/run.ts';
import type { NamedNodes } from './use-named.ts';

/** Clusters and groups that are offered; others are typed. */
const OFFERED_MAX = 24;

const T = RUN.form;

interface PlacesProps {
  readonly live: Live;
  readonly form: Signal<RunForm>;
  readonly earlier: Earlier | string | null;
  readonly named: NamedNodes;
  readonly wrong: readonly FormField[];
}

/** One of the ways, and what it needs. */
export function Places(props: PlacesProps) {
  const { form, wrong } = props;
  const { place } = form.value;
  return (
    <fieldset class="run-places">
      <legend>{T.where}</legend>
      <div class="chips">
        {PLACES.map((one) => (
          <label key={one} class="chip">
            <input
              type="radio"
              name="place"
              id={`run-place-${one}`}
              checked={one === place}
              onChange={() => (form.value = { ...form.value, place: one })}
            />
            {T.places[one]}
          </label>
        ))}
      </div>
      <Place key={place} {...props} place={place} />
      {place !== 'all' && wrong.includes(place) && props.named.problem.value === null && (
        <span class="wrong">{T.wrong[place]}</span>
      )}
      {wrong.includes('many') && (
        <span id="run-many" class="wrong" tabIndex={-1}>
          {T.wrong.many}
        </span>
      )}
    </fieldset>
  );
}

function Place({ live, form, earlier, named, place, wrong }: PlacesProps & { readonly place: PlaceKind }) {
  if (place === 'all') return null;
  const put = (value: string): void => {
    form.value = { ...form.value, [place]: value };
  };
  return (
    <>
      <label>
        <span>{T.fields[place]}</span>
        <input
          id={`run-${place}`}
          value={form.value[place]}
          placeholder={place === 'clusters' || place === 'nodes' ? T.hints[place] : undefined}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-invalid={wrong.includes(place)}
          onInput={({ currentTarget }) => put(currentTarget.value)}
        />
      </label>
      {place === 'clusters' && <Clusters live={live} form={form} />}
      {place === 'group' && <Groups live={live} form={form} />}
      {place === 'again' && <OnlyFailed form={form} />}
      {place === 'nodes' && named.problem.value !== null && <span class="wrong">{named.problem.value}</span>}
      {place === 'again' && typeof earlier === 'string' && <span class="wrong">{earlier}</span>}
    </>
  );
}

type ChoiceProps = Pick<PlacesProps, 'live' | 'form'>;

function Clusters({ live, form }: ChoiceProps) {
  const clusters = usePolled(() => live.api.list_clusters.query({ page_size: OFFERED_MAX, sort: 'name' }));
  const chosen = namesIn(form.value.clusters);
  const toggle = (name: string): void => {
    const names = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    form.value = { ...form.value, clusters: names.join(', ') };
  };
  return (
    <Offers
      label={T.fields.clusters}
      offers={clusters.value.data?.data.map(({ name, node_count: count }) => ({ name, count })) ?? []}
      isChosen={(name) => chosen.includes(name)}
      choose={toggle}
    />
  );
}

function Groups({ live, form }: ChoiceProps) {
  const groups = usePolled(() => live.api.list_groups.query({ page_size: OFFERED_MAX, sort: 'name' }));
  return (
    <Offers
      label={T.fields.group}
      offers={groups.value.data?.data.map(({ name }) => ({ name, count: null })) ?? []}
      isChosen={(name) => form.value.group.trim() === name}
      choose={(group) => (form.value = { ...form.value, group })}
    />
  );
}

interface OffersProps {
  readonly label: string;
  readonly offers: readonly { readonly name: string; readonly count: number | null }[];
  readonly isChosen: (name: string) => boolean;
  readonly choose: (name: string) => void;
}

function Offers({ label, offers, isChosen, choose }: OffersProps) {
  if (offers.length === 0) return null;
  return (
    <div class="chips" role="group" aria-label={label}>
      {offers.map(({ name, count }) => (
        <button key={name} type="button" class="chip" aria-pressed={isChosen(name)} onClick={() => choose(name)}>
          {name} {count !== null && <span class="number soft">{count.toLocaleString('en')}</span>}
        </button>
      ))}
    </div>
  );
}

function OnlyFailed({ form }: Pick<PlacesProps, 'form'>) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={form.value.onlyFailed}
        onChange={({ currentTarget }) => (form.value = { ...form.value, onlyFailed: currentTarget.checked })}
      />
      {T.onlyFailed}
    </label>
  );
}
