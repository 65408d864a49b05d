// Films play while they can be seen; for readers who ask for less motion, while the pointer is on them.
const play = (film) => film.play().catch(() => {});  // a film that is scrolled away before it has begun
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) isIntersecting ? play(target) : target.pause();
});
for (const film of document.querySelectorAll('video')) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
    film.addEventListener('pointerenter', () => play(film));
    film.addEventListener('pointerleave', () => film.pause());
  } else seen.observe(film);
}
