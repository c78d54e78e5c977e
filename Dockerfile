# Two stages on the same Debian release: build into /app, then run from it as an unprivileged user.
# Both base images are build arguments, so that a mirror, a digest or a debootstrap image can replace them.
ARG BUILD_IMAGE=docker.io/library/python:3.13-slim-trixie
ARG RUNTIME_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY requirements.lock ./
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-compile \
      --require-hashes --target /app -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY operator operator
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-compile --no-deps --target /app .

FROM ${RUNTIME_IMAGE}
COPY --from=build /app /app
ENV PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONFAULTHANDLER=1 TZ=UTC
USER 65532:65532
ENTRYPOINT ["python3", "-m", "moorage"]
CMD ["run"]
