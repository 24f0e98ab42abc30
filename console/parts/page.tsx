/** The present page, once it is loaded. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadUntilThere } from '../loading.ts';
import type { PageProps } from '../page-props.ts';
import { PAGES } from '../pages.ts';
import type { PageName } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { LoadAnew } from './load-anew.tsx';
import { State } from './state.tsx';

/** Pages that were loaded: they are shown at once from then on. */
const LOADED = new Map<PageName, ComponentType<PageProps>>();

/** A page that cannot be loaded, as the admin is away or was upgraded since, says so and is tried until it is there. */
export function Page({ name, ...props }: PageProps & { readonly name: PageName }) {
  const source = PAGES[name];
  const found = 'page' in source ? source.page : LOADED.get(name);
  const [tried, setTried] = useState<{ readonly name: PageName; readonly failed: boolean } | null>(null);
  useEffect(() => {
    if (found !== undefined || !('load' in source)) return undefined;
    return loadUntilThere(
      source.load,
      (page) => {
        LOADED.set(name, page);
        setTried({ name, failed: false });
      },
      () => setTried({ name, failed: true }),
    );
  }, [name]);
  if (found !== undefined) {
    const Found = found;
    return <Found {...props} />;
  }
  if (tried?.name !== name || !tried.failed) return <State kind="loading" text={TEXTS.states.loading} />;
  return (
    <State kind="failed" text={TEXTS.states.notLoaded}>
      <LoadAnew />
    </State>
  );
}
