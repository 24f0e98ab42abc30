/**
 * Whether a page or a dialog is still there when an answer comes: who went elsewhere meanwhile stays where they are.
 */
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../router.ts';

/** True until its component is gone. */
export function useIsThere(): { readonly current: boolean } {
  const isThere = useRef(true);
  useEffect(() => () => void (isThere.current = false), []);
  return isThere;
}

/** Goes to a page as long as its component is there. */
export function useLead(): (address: string) => void {
  const isThere = useIsThere();
  return (address) => {
    if (isThere.current) go(address);
  };
}
